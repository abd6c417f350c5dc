"""Forward-mode differentiation is not available; the names exist to say so."""


def _refuse(*args, **kwargs):
    raise NotImplementedError(
        "forward-mode AD is not supported; torch.autograd.grad with create_graph=True gives jvp by double backward "
        "(torch.autograd.functional.jvp)"
    )


dual_level = make_dual = unpack_dual = enter_dual_level = exit_dual_level = _refuse
