"""Names of ATen overloads that do not follow from the declarations."""

from __future__ import annotations

# Names of out= and in-place overloads that do not follow the rule, which is: default -> out, X -> X_out.
# Arguments that are not called out (or as the results are) follow the name.
OUT_NAMES = {
    **dict.fromkeys(("add.Tensor", "sub.Tensor", "mul.Tensor", "div.Tensor", "copysign.Tensor"), "out"),
    "xlogy.Tensor": "OutTensor",
    "xlogy.Scalar_Self": "OutScalar_Self",
    "xlogy.Scalar_Other": "OutScalar_Other",
    "arange.start": "",
    "div.Tensor_mode": "out_mode",
    "ldexp.Tensor": "out",
    "max.other": "out",
    "min.other": "out",
    "max": "unary_out",
    "min": "unary_out",
    "empty.memory_format": "out",
    "arange.start_step": "start_out",
    "range.step": "out",
    "range": "out_",
    "where.self": "self_out",
    "sum.dim_IntList": "IntList_out",
    "sum": "out",
    "mean.dim": "out",
    "mean": "dtype_out",
    "prod.dim_int": "int_out",
    "any.dim": "out",
    "all.dim": "out",
    "any": "all_out",
    "all": "all_out",
    "var.dim": "out",
    "std.dim": "out",
    "frobenius_norm.dim": "out",
    "linalg_matrix_rank.tol_tensor": "out_tol_tensor",
    "linalg_pinv.rcond_tensor": "out_rcond_tensor",
    "max.dim": "dim_max max max_values",
    "min.dim": "dim_min min min_indices",
    "sort": "values values indices",
    "sort.stable": "values_stable values indices",
    "topk": "values values indices",
    "mode": "values values indices",
    "kthvalue": "values values indices",
    "median.dim": "dim_values values indices",
    "nanmedian.dim": "dim_values values indices",
    "triangular_solve": "X X M",
    "linalg_cholesky_ex": "L L info",
    "qr": "Q Q R",
    "geqrf": "a a tau",
    "linalg_inv_ex": "inverse inverse info",
    "linalg_eigh": "eigvals eigvals eigvecs",
    "linalg_svd": "U U S Vh",
    "svd": "U U S V",
    "where.ScalarSelf": "",
    "where.ScalarOther": "",
    "where.Scalar": "",
    "where": "",
    "logit_backward": "grad_input grad_input",
    "_softmax_backward_data": "out grad_input",
    "native_batch_norm": "out out save_mean save_invstd",
    "_native_batch_norm_legit": "out out save_mean save_invstd",
    "_native_batch_norm_legit.no_stats": "no_stats_out out save_mean save_invstd",
}
INPLACE_NAMES: dict[str, str | None] = {
    "floor_divide": "Tensor",
    "pow.Tensor_Tensor": "Tensor",
    "pow.Tensor_Scalar": "Scalar",
    "ldexp.Tensor": "",
}
# overloads that have another name, or None, under another name of their op
ALIAS_FORMS: dict[str, dict[str, str | None]] = {
    "special_xlogy": {
        "Tensor": "default",
        "Scalar_Self": "self_scalar",
        "Scalar_Other": "other_scalar",
        "OutTensor": "out",
        "OutScalar_Self": "self_scalar_out",
        "OutScalar_Other": "other_scalar_out",
    },
    "special_softmax": {"int": "default", "int_out": None},
    "special_log_softmax": {"int": None, "int_out": None},  # its dtype is a keyword in PyTorch
}
# names with a leading _ among torchlite's own ones (in a namespace) that PyTorch has in torch.ops.aten
PRIVATE = frozenset(
    """_adaptive_avg_pool2d _adaptive_avg_pool2d_backward _adaptive_avg_pool3d _cdist_forward
    _local_scalar_dense _pdist_backward _pdist_forward _prelu_kernel _prelu_kernel_backward _segment_reduce_backward
    _to_copy _upsample_bicubic2d_aa _upsample_bilinear2d_aa _upsample_lanczos2d_aa _upsample_nearest_exact1d
    _upsample_nearest_exact2d _upsample_nearest_exact3d""".split()
)
# and of those among PyTorch's (in torch itself) the ones that are torchlite's own
OWN = frozenset("_cdist _conj_physical_ _t2 _unique_consecutive".split())
