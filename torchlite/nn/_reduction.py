"""The `reduction` argument of losses and its deprecated spellings."""


def get_enum(reduction):
    """ "none", "mean", "sum" -> 0, 1, 2."""
    if reduction == "mean":
        return 1
    if reduction == "none":
        return 0
    if reduction == "sum":
        return 2
    if reduction == "elementwise_mean":
        import warnings

        warnings.warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.", stacklevel=2)
        return 1
    raise ValueError(f"{reduction} is not a valid value for reduction")


def legacy_get_string(size_average, reduce, emit_warning=True):
    """The reduction that the old `size_average` and `reduce` flags mean."""
    if size_average is None:
        size_average = True
    if reduce is None:
        reduce = True
    if not reduce:
        ret = "none"
    else:
        ret = "mean" if size_average else "sum"
    if emit_warning:
        import warnings

        warnings.warn(
            "size_average and reduce args will be deprecated, please use reduction='{}' instead.".format(ret),
            stacklevel=3,
        )
    return ret


def legacy_get_enum(size_average, reduce, emit_warning=True):
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
