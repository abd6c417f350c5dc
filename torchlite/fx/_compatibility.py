"""Marks on names that PyTorch promises to keep."""

_BACK_COMPAT_OBJECTS: dict[object, None] = {}
_MARKED_WITH_COMPATIBILITY: dict[object, None] = {}


def compatibility(is_backward_compatible):
    """Decorator: says whether a class or a function stays as it is, in its docstring and in the tables above."""

    def mark(obj):
        note = (
            "Backwards-compatibility for this API is guaranteed."
            if is_backward_compatible
            else "This API is experimental and is *NOT* backward-compatible."
        )
        obj.__doc__ = "%s\n\n.. note::\n    %s\n" % ((obj.__doc__ or "").rstrip(), note)
        if is_backward_compatible:
            _BACK_COMPAT_OBJECTS.setdefault(obj)
        _MARKED_WITH_COMPATIBILITY.setdefault(obj)
        return obj

    return mark
