"""Answers that are known to differ from the recorded ones of PyTorch, on every device."""

# op and check -> answers that differ, with the reason; rng_exact (PyTorch's own random numbers) is not judged
EMPTY = "strides of a result without elements"
KNOWN = {
    ("tensor/as_strided_scatter", "bwd"): (
        14,
        "PyTorch gives self the gradient of what src replaced (view_scatter.py)",
    ),
    ("modules/nn.MultiheadAttention", "bwd"): (1, "one element in float32, 2.6e-5 of its value"),
    ("linalg/linalg.lstsq", "stride"): (2, EMPTY),
    ("linalg/linalg.lstsq.grad_oriented", "stride"): (1, EMPTY),
    ("nn_functional/nn.functional.rms_norm", "stride"): (2, EMPTY),
    ("tensor/cholesky", "stride"): (1, EMPTY),
    ("tensor/combinations", "stride"): (2, EMPTY),
    ("tensor/diff", "stride"): (3, EMPTY),
    ("tensor/histogramdd", "stride"): (5, "PyTorch's strides of edges it did not compute"),
    ("tensor/unique_consecutive", "stride"): (4, EMPTY),
}
