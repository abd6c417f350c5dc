"""Results of either library as lists of numbers."""


def plain(x):
    if hasattr(x, "tolist"):
        return [str(x.dtype), list(x.shape), _rounded(x.tolist())]
    if isinstance(x, (list, tuple)):
        return [plain(v) for v in x]
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    return x


def _rounded(v):
    if isinstance(v, list):
        return [_rounded(x) for x in v]
    return float("%.5g" % v) if isinstance(v, float) else v
