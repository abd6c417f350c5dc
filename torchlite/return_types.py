"""torch.return_types: the named tuples that functions with several results return."""

_PAIR = ("values", "indices")
_FIELDS = {
    **dict.fromkeys(
        ("max", "min", "median", "nanmedian", "mode", "kthvalue", "sort", "topk", "cummax", "cummin"), _PAIR
    ),
    "_linalg_det": ("result", "LU", "pivots"),
    "_linalg_eigh": ("eigenvalues", "eigenvectors"),
    "_linalg_slogdet": ("sign", "logabsdet", "LU", "pivots"),
    "_linalg_solve_ex": ("result", "LU", "pivots", "info"),
    "_linalg_svd": ("U", "S", "Vh"),
    "_scaled_dot_product_flash_attention_for_cpu": ("output", "logsumexp"),
    "aminmax": ("min", "max"),
    "frexp": ("mantissa", "exponent"),
    "geqrf": ("a", "tau"),
    "histogram": ("hist", "bin_edges"),
    "histogramdd": ("hist", "bin_edges"),
    "linalg_cholesky_ex": ("L", "info"),
    "linalg_eig": ("eigenvalues", "eigenvectors"),
    "linalg_eigh": ("eigenvalues", "eigenvectors"),
    "linalg_inv_ex": ("inverse", "info"),
    "linalg_ldl_factor": ("LD", "pivots"),
    "linalg_ldl_factor_ex": ("LD", "pivots", "info"),
    "linalg_lstsq": ("solution", "residuals", "rank", "singular_values"),
    "linalg_lu": ("P", "L", "U"),
    "linalg_lu_factor": ("LU", "pivots"),
    "linalg_lu_factor_ex": ("LU", "pivots", "info"),
    "linalg_qr": ("Q", "R"),
    "linalg_slogdet": ("sign", "logabsdet"),
    "linalg_solve_ex": ("result", "info"),
    "linalg_svd": ("U", "S", "Vh"),
    "lu_unpack": ("P", "L", "U"),
    "qr": ("Q", "R"),
    "slogdet": ("sign", "logabsdet"),
    "svd": ("U", "S", "V"),
    "triangular_solve": ("solution", "cloned_coefficient"),
    "_unpack_dual": ("primal", "tangent"),
}


def _getter(index):
    return property(lambda self: self[index])


class _Result(tuple):
    __slots__ = ()
    n_fields: int
    __match_args__: tuple[str, ...]

    def __new__(cls, sequence):
        if not hasattr(sequence, "__iter__"):
            raise TypeError("constructor requires a sequence")
        items = tuple(sequence)
        if len(items) != cls.n_fields:
            raise TypeError(
                f"torch.return_types.{cls.__name__}() takes a {cls.n_fields}-sequence ({len(items)}-sequence given)"
            )
        return tuple.__new__(cls, items)

    def __repr__(self):
        fields = ",\n".join(f"{name}={item!r}" for name, item in zip(self.__match_args__, self))
        return f"torch.return_types.{type(self).__name__}(\n{fields})"

    def __reduce__(self):
        return type(self), (tuple(self),)


def _make(name):
    fields = _FIELDS.get(name) or _FIELDS[name.removesuffix("_out")]
    body = {field: _getter(i) for i, field in enumerate(fields)}
    body.update(
        __slots__=(),
        __match_args__=fields,
        n_fields=len(fields),
        n_sequence_fields=len(fields),
        n_unnamed_fields=0,
        __module__="torch.return_types",
    )
    return type(name, (_Result,), body)


def of_schema(schema):
    """The class of an op's result when its schema names the fields, else None."""
    result = schema.rpartition(" -> ")[2]
    if not result.startswith("(") or " " not in result.partition(",")[0]:
        return None
    name = schema.partition("(")[0].partition(".")[0]
    return __getattr__(name) if name in _FIELDS else None


def __getattr__(name):
    if name in _FIELDS or (name.endswith("_out") and name[:-4] in _FIELDS):
        if name not in globals():
            globals()[name] = _make(name)
        return globals()[name]
    from ._core import absent

    return absent.of(__name__)(name)


def __dir__():
    return sorted({*globals(), *_FIELDS} - {"_PAIR", "_FIELDS"})
