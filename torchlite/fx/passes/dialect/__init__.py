"""Passes for one set of ops."""
