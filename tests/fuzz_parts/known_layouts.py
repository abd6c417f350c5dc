"""The intended differences of sparse and nested tensors."""

from __future__ import annotations

from fuzz.known_values import Meant

SPARSE = r"to_sparse|sparse_\w+_tensor"
NESTED = r"torch\.nested\."

LAYOUTS = [
    Meant(
        r"raises \w+Error, (nothing|\w+Error)",
        f"{SPARSE}|{NESTED}",
        "",
        0,
        "which layouts an op takes: torchlite computes more of them, and refuses the rest with one type of error",
    ),
    Meant(
        r"raises nothing, (NotImplemented|Absent|Runtime|Type)Error",
        f"{SPARSE}|{NESTED}",
        r"torchlite .*(Could not run|torchlite|not supported|no rule|expected|invalid|size of the tensor)",
        0,
        "ops that torchlite does not have for a layout; the error says so",
    ),
    Meant("warnings", f"{SPARSE}|{NESTED}", "", 0, "how often a layout is called a prototype"),
    Meant(
        "(shape|value|text)",
        SPARSE,
        r"_indices\(\)|_values\(\)|values\(\)|indices\(\)|repr|nnz|out\[0\] at the end: PyTorch tensor\(",
        0,
        "whether a sparse result is coalesced, holds zeros, or in which order its elements lie",
    ),
    Meant("type|text", NESTED, r"SymInt|Size torch.Size|grad_fn=", 0, "the class of a ragged size, and a node's name"),
    Meant(
        "shape",
        rf"{NESTED}to_padded_tensor\(n, 0.0, \(3, 7, 4\)\)",
        "",
        0,
        "PyTorch pads a jagged tensor only along its ragged dim",
    ),
    Meant(
        "shape",
        r"nested_tensor_from_jagged\((?s:.*)to_padded_tensor",
        r"out\[0\]",
        0,
        "PyTorch pads to the number of all rows where it was not told the longest part",
    ),
    Meant("stride", f"{SPARSE}|{NESTED}", r"out\[1\]", 0, "the layout of the gradient of a part"),
    Meant("stride", SPARSE, "", 0, "a dense product with a sparse matrix on the right is a transposed one"),
]
