"""Activation checkpoints."""
