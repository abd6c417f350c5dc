"""The intended differences of the parts from PyTorch, each with its reason. Every other difference is a finding.

What one op does on purpose otherwise is in fuzz/known.py; these are the parts' own."""

from __future__ import annotations

from fuzz.known_values import Meant

MEANT: list[Meant] = []
