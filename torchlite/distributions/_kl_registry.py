"""Which function gives the KL divergence of two classes of distributions."""

from collections.abc import Callable

from .distribution import Distribution

_KL_REGISTRY: dict[tuple[type, type], Callable] = {}
_memo: dict[tuple[type, type], Callable] = {}


def register_kl(type_p, type_q):
    """Decorator: the function gives KL(p || q) for these classes and their subclasses."""
    if not isinstance(type_p, type) and issubclass(type_p, Distribution):
        raise TypeError(f"Expected type_p to be a Distribution subclass but got {type_p}")
    if not isinstance(type_q, type) and issubclass(type_q, Distribution):
        raise TypeError(f"Expected type_q to be a Distribution subclass but got {type_q}")

    def decorator(fun):
        _KL_REGISTRY[type_p, type_q] = fun
        _memo.clear()
        return fun

    return decorator


def _dispatch(type_p, type_q):
    """The function registered for the nearest pair of base classes."""
    matches = [(p, q) for p, q in _KL_REGISTRY if issubclass(type_p, p) and issubclass(type_q, q)]
    if not matches:
        return NotImplemented

    def rank(pair):
        return type_p.__mro__.index(pair[0]), type_q.__mro__.index(pair[1])

    left = min(matches, key=rank)
    right = min(matches, key=lambda pair: rank(pair)[::-1])
    if _KL_REGISTRY[left] is not _KL_REGISTRY[right]:
        import warnings

        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please register_kl({left[0].__name__}, "
            f"{right[1].__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return _KL_REGISTRY[left]


def kl_divergence(p, q):
    """KL(p || q), one number for each distribution of the batch."""
    key = type(p), type(q)
    fun = _memo.get(key)
    if fun is None:
        fun = _memo[key] = _dispatch(*key)
    if fun is NotImplemented:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {p.__class__.__name__} and q type {q.__class__.__name__}"
        )
    return fun(p, q)
