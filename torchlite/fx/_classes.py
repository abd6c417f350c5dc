"""Classes of torch.fx print with PyTorch's paths; their `__module__` stays where pickle finds them."""


class Shown(type):
    def __repr__(cls):
        module = cls.__module__
        if module.partition(".")[0] != "torchlite":
            return type.__repr__(cls)
        return "<class 'torch%s.%s'>" % (module[9:], cls.__qualname__)


def shown_object(obj):
    """The repr of an object without one of its own."""
    cls = type(obj)
    module = cls.__module__
    if module.partition(".")[0] == "torchlite":
        module = "torch" + module[9:]
    return "<%s.%s object at 0x%x>" % (module, cls.__qualname__, id(obj))
