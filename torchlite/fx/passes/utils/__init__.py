"""Matching, lifting and fusing parts of graphs."""

from .common import HolderModule, compare_graphs, lift_subgraph_as_module
