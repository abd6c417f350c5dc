"""Programs that change tensors in place: each takes a torch and x, (3, 4) with values in (0, 1),
and returns what was changed."""

CASES = {}


def case(*changes):
    """A program that makes x * 1 and changes it by these functions of (torch, z, x)."""

    def run(m, x):
        z = x * 1
        for change in changes:
            change(m, z, x)
        return z

    return run


def forms(**programs):
    CASES.update(programs)


def put(where, value):
    """z[where] = value, each a function of (torch, z, x) or as it is."""

    def change(m, z, x):
        z[where(m, z, x) if callable(where) else where] = value(m, z, x) if callable(value) else value

    return change


forms(
    mul=case(lambda m, z, x: z.mul_(x)),
    times_equals=case(lambda m, z, x: z.__imul__(x)),
    div=case(lambda m, z, x: z.div_(x + 1)),
    pow_number=case(lambda m, z, x: z.pow_(3)),
    pow_tensor=case(lambda m, z, x: z.pow_(x)),
    lerp=case(lambda m, z, x: z.lerp_(x * x, x)),
    addcmul=case(lambda m, z, x: z.addcmul_(x, x * x, value=2)),
    addcdiv=case(lambda m, z, x: z.addcdiv_(x, 1 + x)),
    cumprod=case(lambda m, z, x: z.cumprod_(1)),
    atan2=case(lambda m, z, x: z.atan2_(x * x)),
    hypot=case(lambda m, z, x: z.hypot_(x * x)),
    xlogy=case(lambda m, z, x: z.xlogy_(x)),
    float_power=case(lambda m, z, x: z.float_power_(x)),
    square=case(lambda m, z, x: z.square_()),
    sin=case(lambda m, z, x: z.sin_()),
    log=case(lambda m, z, x: z.log_()),
    lgamma=case(lambda m, z, x: z.lgamma_()),
    digamma=case(lambda m, z, x: z.digamma_()),
    polygamma=case(lambda m, z, x: z.polygamma_(1)),
    logit=case(lambda m, z, x: z.logit_()),
    sinh=case(lambda m, z, x: z.sinh_()),
    chain=case(
        lambda m, z, x: z.log_(), lambda m, z, x: z.square_(), lambda m, z, x: z.add_(x), lambda m, z, x: z.tanh_()
    ),
    clamp_then_mul=case(lambda m, z, x: z.clamp_(0.2, 0.7), lambda m, z, x: z.mul_(x)),
    masked_fill_then_mul=case(lambda m, z, x: z.masked_fill_(x > 0.5, 2.0), lambda m, z, x: z.mul_(x)),
    fmod_then_mul=case(lambda m, z, x: z.fmod_(0.4), lambda m, z, x: z.mul_(x)),
    nan_to_num_then_mul=case(lambda m, z, x: z.nan_to_num_(), lambda m, z, x: z.mul_(x)),
    silu=lambda m, x: m.nn.functional.silu(x * 1, inplace=True),
    mish=lambda m, x: m.nn.functional.mish(x * 1, inplace=True),
    elu=lambda m, x: m.nn.functional.elu(x - 0.5, inplace=True),
    celu=lambda m, x: m.celu_(x - 0.5, 0.7),
    selu=lambda m, x: m.selu_(x - 0.5),
    relu6=lambda m, x: m.nn.functional.relu6(x * 1, inplace=True),
    hardswish=lambda m, x: m.nn.functional.hardswish(x * 1, inplace=True),
    leaky_relu=lambda m, x: m.nn.functional.leaky_relu(x - 0.5, 0.1, inplace=True),
    rrelu=lambda m, x: m.nn.functional.rrelu(x - 0.5, inplace=True),
    threshold=lambda m, x: m.nn.functional.threshold(x * 1, 0.4, 0.1, inplace=True),
    dropout=lambda m, x: m.nn.functional.dropout(x * 1, 0.5, inplace=True),
    relu_of_linear=lambda m, x: m.nn.functional.relu(x @ x.t() - 0.3, inplace=True),
    renorm=case(lambda m, z, x: z.renorm_(2, 0, 0.5)),
    addmm=case(lambda m, z, x: z.addmm_(x @ x.t(), x)),
    index_add=case(lambda m, z, x: z.index_add_(0, m.tensor([0, 2], device=x.device), x[:2] ** 2)),
    index_copy=case(lambda m, z, x: z.index_copy_(1, m.tensor([3, 0], device=x.device), x[:, :2] ** 2)),
    scatter=case(lambda m, z, x: z.scatter_(1, m.tensor([[0, 1], [2, 3], [1, 0]], device=x.device), x[:, :2] ** 2)),
    scatter_add=case(
        lambda m, z, x: z.scatter_add_(1, m.tensor([[0, 0], [2, 3], [1, 0]], device=x.device), x[:, :2] ** 2)
    ),
    index_put=case(lambda m, z, x: z.index_put_((m.tensor([0, 0, 2], device=x.device),), x**2, accumulate=True)),
    masked_scatter=case(lambda m, z, x: z.masked_scatter_(x > 0.5, x.exp())),
    copy=case(lambda m, z, x: z.copy_(x[0] ** 2), lambda m, z, x: z.mul_(x)),
    fill_tensor=case(lambda m, z, x: z.fill_(x[0, 0] ** 3), lambda m, z, x: z.mul_(x)),
    zero=case(lambda m, z, x: z.zero_(), lambda m, z, x: z.add_(x**3)),
    fill_diagonal=case(lambda m, z, x: z.fill_diagonal_(0.3), lambda m, z, x: z.mul_(x)),
    tril=case(lambda m, z, x: z.tril_(), lambda m, z, x: z.mul_(x)),
    other_only=lambda m, x: m.full((3, 4), 0.5, dtype=x.dtype, device=x.device).mul_(x).mul_(x),
)
forms(  # views
    row=case(lambda m, z, x: z[0].mul_(x[1])),
    rows=case(lambda m, z, x: z[1:].sin_()),
    column=case(lambda m, z, x: z[:, 1].exp_()),
    strided=case(lambda m, z, x: z[:, ::2].mul_(x[:, 1::2])),
    view_of_view=case(lambda m, z, x: z[1:].t()[1:3].square_()),
    transposed=case(lambda m, z, x: z.t().cumprod_(0)),
    narrow_permute=case(lambda m, z, x: z.narrow(1, 1, 2).permute(1, 0).log_()),
    reshaped=case(lambda m, z, x: z.view(2, 6).select(0, 1).pow_(2)),
    diagonal=case(lambda m, z, x: z.diagonal().sin_()),
    squeezed=case(lambda m, z, x: z.unsqueeze(1).squeeze(1)[2].exp_()),
    windows=case(lambda m, z, x: z.unfold(1, 2, 2).sin_()),
    as_strided=case(lambda m, z, x: z.as_strided((2, 2), (4, 1), 1).sin_()),
    view_zeroed=case(lambda m, z, x: z[0].zero_(), lambda m, z, x: z.mul_(x)),
    view_filled=case(lambda m, z, x: z[0].fill_(0.25), lambda m, z, x: z.mul_(x)),
    view_relu=case(lambda m, z, x: m.nn.functional.relu(z[1:], inplace=True)),
    view_clamped=case(lambda m, z, x: z[1:].clamp_(0.2, 0.7), lambda m, z, x: z.mul_(x)),
    view_added=case(lambda m, z, x: z[1:].add_(x[1:] ** 2), lambda m, z, x: z[:, 0].sub_(x[:, 1] ** 2)),
    view_copied=case(lambda m, z, x: z[:, :2].copy_(x[:, 2:] ** 2)),
    crossing_views=case(
        lambda m, z, x: z[0].sin_(), lambda m, z, x: z[:, 1].log_(), lambda m, z, x: z[1:3, 1:3].mul_(z[0, 0] * 1)
    ),
    transposed_base=lambda m, x: case(lambda m, z, x: z[1:].mul_(x[1:] ** 2))(m, x.t()),
    base_with_steps=lambda m, x: case(lambda m, z, x: z[:, 0].sin_())(m, x[:, ::2]),
    no_history_before=lambda m, x: _into_zeros(m, x),
    view_read_after=lambda m, x: _read_after(m, x),
    result_saved=case(lambda m, z, x: z[1:].t()[1:].tanh_()),
    put_row=case(put(0, lambda m, z, x: x[1] ** 2)),
    put_number=case(put((slice(None), 1), 0.5), lambda m, z, x: z.mul_(x)),
    put_list=case(put((slice(None), [0, 2]), lambda m, z, x: x[:, [1, 1]] ** 2)),
    put_mask=case(put(lambda m, z, x: x > 0.5, lambda m, z, x: x[x > 0.5] ** 2)),
    put_into_view=case(lambda m, z, x: put((slice(None), [1]), x[1:, :1].exp())(m, z[1:], x)),
    put_ellipsis=case(put((..., None, 2), lambda m, z, x: x[:, :1] ** 3)),
    geometry=case(
        lambda m, z, x: z.t_(),
        lambda m, z, x: z[1:].sin_(),
        lambda m, z, x: z.unsqueeze_(0),
        lambda m, z, x: z.mul_(z * 1),
        lambda m, z, x: z.squeeze_(0),
        lambda m, z, x: z.transpose_(0, 1),
    ),
)
COMPLEX = dict(
    real_part=lambda m, x: _parts(m, x, lambda z: z.real.sin_()),
    imaginary_rows=lambda m, x: _parts(m, x, lambda z: z[1:].imag.mul_(z[1:].real * 1)),
    as_real=lambda m, x: _parts(m, x, lambda z: m.view_as_real(z)[..., 1].exp_()),
    as_complex=lambda m, x: case(lambda m, z, x: m.view_as_complex(z.view(3, 2, 2)).square_())(m, x),
    times=lambda m, x: _parts(m, x, lambda z: z.mul_(x * (2 - 1j))),
    rows=lambda m, x: _parts(m, x, lambda z: z[1:].exp_()),
    by_real=lambda m, x: _parts(m, x, lambda z: z.mul_(x[0])),
    copied_from_real=lambda m, x: _parts(m, x, lambda z: z[0].copy_(x[0] ** 2)),
    conj=lambda m, x: _parts(m, x, lambda z: z.conj_physical_().square_()),
)


def _into_zeros(m, x):
    z = m.zeros(3, 4, dtype=x.dtype, device=x.device)
    z[1:].add_(x[1:] ** 2)
    z[:, 1].mul_(x[:, 0])
    return z


def _read_after(m, x):
    z = x * 1
    v = z[:2]
    v.sin_()
    z[:, 0].exp_()
    return v * v


def _parts(m, x, change):
    z = x * (1 + 0.5j)
    change(z)
    return m.view_as_real(z)
