"""Weights that stand for one copy per sample: backward puts each sample's gradient into `grad_sample` of the weight.

One autograd function serves all layers: its backward takes the samples one by one. So it is as right as the layer's own
gradient, and as slow as a batch size of 1.
"""

from .expanded_weights_impl import ExpandedWeight

__all__ = ["ExpandedWeight"]
