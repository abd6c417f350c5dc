"""Modules against PyTorch: initial values from the same seed, outputs, representations, state_dict, hooks, errors."""

import copy
import pickle
import warnings

import pytest

import torchlite

torch = pytest.importorskip("torch")


def both(f):
    """f(library) for PyTorch and for us, each from seed 0; tensors become lists."""
    out = []
    for lib in (torch, torchlite):
        lib.manual_seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                out.append(plain(f(lib)))
            except Exception as e:
                out.append((type(e).__name__, str(e).replace("torchlite", "torch")))
    return out


def plain(x):
    if isinstance(x, (torch.Tensor, torchlite.Tensor)):
        return [tuple(x.shape), x.detach().flatten().tolist()]
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return [plain(v) for v in x]
    return x


def close(a, b, tol=2e-5):
    if isinstance(a, float) and isinstance(b, float):
        return a == b or abs(a - b) <= tol * (1 + abs(a))
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(close(x, y, tol) for x, y in zip(a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(close(a[k], b[k], tol) for k in a)
    return a == b


def same(f):
    a, b = both(f)
    assert close(a, b), f"torch {a}\nours  {b}"


LAYERS = {
    "Linear(3, 4)": (2, 3),
    "Linear(3, 4, bias=False)": (2, 3),
    "Conv1d(2, 4, 3, padding=1)": (1, 2, 5),
    "Conv2d(2, 4, 3, stride=2, padding_mode='reflect', padding=1)": (1, 2, 5, 5),
    "Conv3d(1, 2, 2)": (1, 1, 3, 3, 3),
    "ConvTranspose2d(2, 3, 3, stride=2, output_padding=1)": (1, 2, 3, 3),
    "BatchNorm2d(3)": (2, 3, 2, 2),
    "LayerNorm(4)": (2, 4),
    "GroupNorm(2, 4)": (2, 4, 3),
    "RMSNorm(4)": (2, 4),
    "InstanceNorm1d(3, affine=True)": (2, 3, 4),
    "RNN(3, 4, 2, nonlinearity='relu')": (5, 2, 3),
    "LSTM(3, 4, 2, bidirectional=True, batch_first=True)": (2, 5, 3),
    "LSTM(3, 4, proj_size=2)": (5, 2, 3),
    "GRU(3, 4, bias=False)": (5, 2, 3),
    "GRUCell(3, 4)": (2, 3),
    "LSTMCell(3, 4)": (2, 3),
    "PReLU(3)": (2, 3, 4),
    "TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0)": (2, 5, 8),
    "Sequential(nn.Linear(3, 4), nn.GELU(), nn.Dropout(0.5), nn.Linear(4, 2))": (2, 3),
    "MaxPool2d(2)": (1, 1, 4, 4),
    "AvgPool2d(2, padding=1)": (1, 1, 4, 4),
    "AdaptiveAvgPool2d(2)": (1, 2, 5, 5),
    "Flatten()": (2, 3, 4),
    "Softmax(dim=-1)": (2, 3),
    "Upsample(scale_factor=2.0, mode='bilinear')": (1, 1, 3, 3),
    "PixelShuffle(2)": (1, 4, 2, 2),
    "ReflectionPad2d(1)": (1, 1, 3, 3),
    "CosineSimilarity()": None,
}


def make(lib, text):
    return eval("nn." + text, {"nn": lib.nn})


@pytest.mark.parametrize("text", LAYERS)
def test_same_seed_same_layer(text):
    def run(lib):
        m = make(lib, text)
        out = [repr(m), dict(m.state_dict())]
        if LAYERS[text] is not None:
            x = lib.randn(*LAYERS[text], requires_grad=True)
            y = m(x)
            first = y[0] if isinstance(y, tuple) else y
            first.square().sum().backward()
            out += [y, x.grad, [p.grad for p in m.parameters()]]
        return out

    same(run)


@pytest.mark.parametrize(
    "name",
    [
        "uniform_",
        "normal_",
        "xavier_uniform_",
        "xavier_normal_",
        "kaiming_uniform_",
        "kaiming_normal_",
        "trunc_normal_",
        "eye_",
        "ones_",
        "zeros_",
    ],
)
def test_init(name):
    same(lambda lib: getattr(lib.nn.init, name)(lib.empty(6, 10)))


def test_init_dirac_sparse_and_narrow_truncation():
    same(lambda lib: lib.nn.init.dirac_(lib.empty(6, 2, 3), 3))
    same(lambda lib: lib.nn.init.sparse_(lib.empty(6, 4), 0.3))
    same(lambda lib: lib.nn.init.trunc_normal_(lib.empty(50), 0.0, 1.0, 2.0, 3.0))


def net(lib):
    class Net(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = lib.nn.Linear(2, 3)
            self.b = lib.nn.BatchNorm1d(3)
            self.blocks = lib.nn.ModuleList([lib.nn.ReLU(), lib.nn.ReLU(), lib.nn.Linear(3, 3)])
            self.w = lib.nn.Parameter(lib.ones(2))
            self.register_buffer("z", lib.ones(1), persistent=False)

        def forward(self, x):
            return self.blocks[2](self.b(self.a(x)))

    return Net()


@pytest.mark.parametrize("strict", [True, False])
def test_load_state_dict_messages(strict):
    def run(lib):
        n = net(lib)
        state = dict(n.state_dict())
        del state["w"]
        state["extra"] = lib.ones(1)
        if strict:
            state["a.weight"] = lib.ones(5, 5)
        return str(n.load_state_dict(state, strict=strict))

    same(run)


ERRORS = {
    "parameter needs Parameter": lambda lib, n: setattr(n, "w", lib.ones(2)),
    "child needs Module": lambda lib, n: setattr(n, "a", 3),
    "no attribute": lambda lib, n: n.foo,
    "dot in buffer name": lambda lib, n: n.register_buffer("a.b", None),
    "name taken": lambda lib, n: n.register_parameter("a", None),
    "not a parameter": lambda lib, n: n.register_parameter("x", lib.ones(1)),
    "no submodule": lambda lib, n: n.get_submodule("a.q"),
    "integer dtype": lambda lib, n: n.to(lib.int32),
    "not a module": lambda lib, n: n.add_module("x", 3),
    "bad mode": lambda lib, n: n.train(3),
    "not a dict": lambda lib, n: n.load_state_dict(3),
    "missing forward": lambda lib, n: lib.nn.Module()(1),
    "before init": lambda lib, n: setattr(
        type("M", (lib.nn.Module,), {"__init__": lambda s: None})(), "x", lib.nn.Linear(1, 1)
    ),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case):
    same(lambda lib: ERRORS[case](lib, net(lib)))


def test_names_and_dtypes():
    def run(lib):
        n = net(lib)
        n.blocks.append(n.a)  # shared module: listed once
        out = [
            repr(n),
            [k for k, _ in n.named_parameters()],
            [k for k, _ in n.named_modules()],
            list(n.state_dict()),
            [k for k, _ in n.named_parameters(remove_duplicate=False)],
        ]
        n.half()
        out += [str(n.a.weight.dtype), str(n.b.running_mean.dtype), str(n.b.num_batches_tracked.dtype)]
        return out

    same(run)


def test_hooks():
    def run(lib):
        m = lib.nn.Sequential(lib.nn.Linear(2, 3), lib.nn.ReLU(), lib.nn.Linear(3, 1))
        log = []
        m.register_forward_hook(lambda mod, a, kw, o: log.append(["f", list(o.shape), dict(kw)]), with_kwargs=True)
        m[0].register_full_backward_hook(lambda mod, gi, go: log.append(["b", [list(g.shape) for g in go]]))
        m[2].register_full_backward_pre_hook(lambda mod, go: log.append(["p", [list(g.shape) for g in go]]))
        m[0].register_forward_pre_hook(lambda mod, a: (a[0] * 2,))
        x = lib.ones(4, 2, requires_grad=True)
        m(x).sum().backward()
        return [log, x.grad]

    same(run)


def test_hook_can_be_removed_and_always_called():
    seen = []

    class Bad(torchlite.nn.Module):
        def forward(self, x):
            raise ValueError("no")

    m = Bad()
    h = m.register_forward_hook(lambda *a: seen.append(a[2]), always_call=True)
    with pytest.raises(ValueError):
        m(1)
    assert seen == [None]
    h.remove()
    with pytest.raises(ValueError):
        m(1)
    assert len(seen) == 1


def test_deepcopy_and_pickle():
    m = torchlite.nn.Sequential(torchlite.nn.Linear(2, 3), torchlite.nn.BatchNorm1d(3))
    for n in (copy.deepcopy(m), pickle.loads(pickle.dumps(m))):
        assert repr(n) == repr(m)
        for (ka, a), (kb, b) in zip(m.state_dict().items(), n.state_dict().items()):
            assert ka == kb and a.tolist() == b.tolist() and a is not b
        assert all(isinstance(p, torchlite.nn.Parameter) and p.requires_grad for p in n.parameters())


def test_attention_masks():
    def run(lib):
        m = lib.nn.MultiheadAttention(8, 2, batch_first=True)
        x = lib.randn(2, 4, 8)
        mask = lib.nn.Transformer.generate_square_subsequent_mask(4)
        pad = lib.tensor([[False, False, True, True], [False, False, False, True]])
        return [
            m(x, x, x),
            m(x, x, x, attn_mask=mask, is_causal=True, need_weights=False)[0],
            m(x, x, x, key_padding_mask=pad),
        ]

    same(run)


def test_packed_sequences():
    def run(lib):
        r = lib.nn.utils.rnn
        p = r.pack_sequence([lib.randn(3, 2), lib.randn(5, 2), lib.randn(1, 2)], enforce_sorted=False)
        out, (h, c) = lib.nn.LSTM(2, 3, 2, bidirectional=True)(p)
        return [out.data, h, c, r.pad_packed_sequence(out, batch_first=True), p.batch_sizes]

    same(run)


def test_clip_and_vectors():
    def run(lib):
        m = lib.nn.Linear(3, 4)
        m(lib.ones(2, 3)).sum().backward()
        u = lib.nn.utils
        return [
            u.clip_grad_norm_(m.parameters(), 0.5),
            [p.grad for p in m.parameters()],
            u.parameters_to_vector(m.parameters()),
        ]

    same(run)


@pytest.mark.parametrize("kind", ["weight_norm", "spectral_norm"])
def test_parametrizations(kind):
    def run(lib):
        m = getattr(lib.nn.utils.parametrizations, kind)(lib.nn.Linear(2, 3))
        y = m(lib.ones(1, 2))
        lib.nn.utils.parametrize.remove_parametrizations(m, "weight")
        return [y, repr(m), m(lib.ones(1, 2))]

    same(run)


def test_spectral_norm_of_old_files():
    """Of before 0.4.1: the weight, and no v."""

    def run(lib):
        m = lib.nn.utils.spectral_norm(lib.nn.Linear(3, 2))
        x = lib.tensor([[1.0, 2.0, 3.0]])
        for _ in range(3):
            m(x)
        old = dict(m.state_dict())
        v = old.pop("weight_v")
        missing = m.load_state_dict(old, strict=False)
        old["weight"] = m.weight.detach()
        m.load_state_dict(old)
        close = (m.weight_v - v).abs().max().item() < 1e-4
        assert close
        return [missing, m.eval()(x), m.load_state_dict(m.state_dict())]

    same(run)


LOSSES = {
    "cross_entropy smoothing": lambda lib, F, x: F.cross_entropy(x, lib.tensor([0, 2, -100]), label_smoothing=0.1),
    "cross_entropy probabilities": lambda lib, F, x: F.cross_entropy(x, x.softmax(1).detach(), reduction="sum"),
    "mse weight": lambda lib, F, x: F.mse_loss(x, x.detach() * 2, weight=x.detach().abs()),
    "kl batchmean": lambda lib, F, x: F.kl_div(x.log_softmax(1), x.detach().softmax(1), reduction="batchmean"),
    "gaussian": lambda lib, F, x: F.gaussian_nll_loss(x, x.detach() + 1, lib.ones(3), full=True),
    "triplet": lambda lib, F, x: F.triplet_margin_with_distance_loss(x, x.detach() + 0.1, x.detach() - 0.2, swap=True),
    "bad reduction": lambda lib, F, x: F.mse_loss(x, x, reduction="x"),
    "sizes": lambda lib, F, x: F.binary_cross_entropy(x, lib.ones(4)),
}


@pytest.mark.parametrize("case", LOSSES)
def test_losses(case):
    def run(lib):
        x = lib.randn(3, 4, requires_grad=True)
        loss = LOSSES[case](lib, lib.nn.functional, x)
        loss.backward()
        return [loss, x.grad]

    same(run)


def test_global_hooks_after_a_program_has_put_in_other_dicts(monkeypatch):
    from collections import OrderedDict

    module = torchlite.nn.modules.module
    monkeypatch.setattr(module, "_global_is_full_backward_hook", None)
    for name in ("forward_hooks", "forward_pre_hooks", "backward_hooks", "backward_pre_hooks"):
        monkeypatch.setattr(module, "_global_" + name, OrderedDict())
    seen = []
    handles = [
        module.register_module_forward_pre_hook(lambda m, x: seen.append("pre")),
        module.register_module_forward_hook(lambda m, x, y: seen.append("forward")),
        module.register_module_full_backward_pre_hook(lambda m, g: seen.append("backward pre")),
        module.register_module_full_backward_hook(lambda m, x, g: seen.append("backward")),
    ]
    try:
        torchlite.nn.Sigmoid()(torchlite.ones(2, requires_grad=True)).sum().backward()
    finally:
        for h in handles:
            h.remove()
        monkeypatch.undo()
        module._global_is_full_backward_hook = None
        module._watch()
    assert seen == ["pre", "forward", "backward pre", "backward"]


def test_backward_hooks_keep_a_named_tuple():
    from typing import NamedTuple

    class Out(NamedTuple):
        a: torchlite.Tensor
        b: torchlite.Tensor

    class Two(torchlite.nn.Module):
        def forward(self, x):
            return Out(x * 2, x * 3)

    m = Two()
    m.register_full_backward_hook(lambda m, gi, go: None)
    made = m(torchlite.ones(2, requires_grad=True))
    assert type(made) is Out and made.b.tolist() == [3, 3]


def test_uninitialized_parameters_refuse_every_function_but_conversions():
    p = torchlite.nn.parameter.UninitializedParameter()
    for use in (lambda: torchlite.full_like(p, 1), lambda: p + 1, lambda: p.sum(), lambda: p.normal_(), lambda: p == p):
        with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter in"):
            use()
    assert p.to(torchlite.float64).dtype is torchlite.float64 and p.half().dtype is torchlite.float16
    with pytest.raises(ValueError, match="can't have uninitialized parameters"):
        torchlite.nn.utils.spectral_norm(torchlite.nn.LazyLinear(3))
    with pytest.raises(RuntimeError, match="share memory on an uninitialized"):
        torchlite.nn.LazyLinear(3).share_memory()


def test_lazy_modules_that_were_converted_still_find_their_shapes():
    def f(m):
        out = []
        for make in (m.nn.LazyBatchNorm1d, m.nn.LazyInstanceNorm1d):
            mod = make(affine=True, track_running_stats=True).double()
            kinds = [type(mod.running_mean).__name__, mod.running_mean.float() is mod.running_mean]
            y = mod(m.arange(24, dtype=m.float64).reshape(2, 3, 4))
            out += [*kinds, y.float(), mod.running_mean, str(mod.running_mean.dtype), type(mod.running_var).__name__]
        buffer = m.nn.parameter.UninitializedBuffer()
        return [*out, buffer.float() is buffer, type(buffer.half()).__name__]

    want, got = both(f)
    assert got == want


def test_right_inverse_keeps_dtype_and_shape():
    parametrize = torchlite.nn.utils.parametrize

    class Odd(torchlite.nn.Module):
        def __init__(self, inverse):
            super().__init__()
            self.inverse = inverse

        def forward(self, x):
            return x

        def right_inverse(self, x):
            return self.inverse(x)

    m = torchlite.nn.Linear(2, 2)
    parametrize.register_parametrization(m, "weight", torchlite.nn.Identity())
    for inverse, what in ((lambda x: x.bool(), "dtype"), (lambda x: x[:-1], "shape")):
        with pytest.raises(ValueError, match="must have the same " + what):
            parametrize.register_parametrization(m, "weight", Odd(inverse))


def test_consume_prefix_in_state_dict_if_present():
    model = torchlite.nn.Sequential(torchlite.nn.Sequential(torchlite.nn.Linear(2, 2)))
    state = model.state_dict()
    torchlite.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "0.")
    assert list(state) == ["0.weight", "0.bias"] and list(state._metadata) == ["", "0"]


def test_swap_tensors_and_modules_that_swap():
    a, b = (
        torchlite.nn.Parameter(torchlite.ones(2)),
        torchlite.nn.Parameter(torchlite.zeros(3, dtype=torchlite.float64)),
    )
    a.note, a.grad, kept = 1, torchlite.full((2,), 5.0), (id(a), a._cdata, b._cdata)
    torchlite.utils.swap_tensors(a, b)
    assert a.tolist() == [0, 0, 0] and a.dtype is torchlite.float64 and a.grad is None
    assert b.tolist() == [1, 1] and b.note == 1 and b.grad.tolist() == [5, 5]
    assert id(a) == kept[0] and a._cdata not in kept[1:]
    with pytest.raises(RuntimeError, match="no leaf"):
        torchlite.utils.swap_tensors(b * 2, a)
    torchlite.__future__.set_swap_module_params_on_conversion(True)
    try:
        m = torchlite.nn.Linear(2, 2)
        weight, cdata = m.weight, m.weight._cdata
        m.double()
        assert m.weight is weight and weight.dtype is torchlite.float64 and weight._cdata != cdata
        m.load_state_dict({"weight": torchlite.ones(2, 2), "bias": torchlite.zeros(2)}, assign=True)
        assert m.weight is weight and weight.dtype is torchlite.float32 and weight.sum() == 4
    finally:
        torchlite.__future__.set_swap_module_params_on_conversion(False)


def test_load_state_dict_leaves_no_cycle():
    import gc

    m = torchlite.nn.Sequential(torchlite.nn.Linear(2, 2))
    state = m.state_dict()
    while gc.collect():  # what other tests left; a finalizer can leave more
        pass
    gc.disable()
    try:
        m.load_state_dict(state)
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_functional_call_with_extra_names_and_values_that_change():
    class Counts(torchlite.nn.Module):
        def __init__(self):
            super().__init__()
            self.n = torchlite.nn.Buffer(torchlite.zeros(1))
            self.label = 0.5

        def forward(self, x):
            self.n = self.n + 1
            return x + self.n, [name for name, _ in self.named_parameters()]

    m, given = Counts(), {"n": torchlite.full((1,), 2.0), "extra": torchlite.nn.Parameter(torchlite.ones(1))}
    out, names = torchlite.func.functional_call(m, given, torchlite.zeros(1))
    assert out.tolist() == [3] and names == ["extra"] and given["n"].tolist() == [3]
    assert m.n.tolist() == [0] and not hasattr(m, "extra")
    with pytest.raises(TypeError, match="attribute `label`: 0.5 is not an instance of torch.Tensor"):
        torchlite.func.functional_call(m, {"label": torchlite.ones(1)}, torchlite.zeros(1))


def test_pruning_container_and_amounts():
    prune = torchlite.nn.utils.prune
    first, other = prune.L1Unstructured(amount=2), prune.L1Unstructured(amount=2)
    first._tensor_name, other._tensor_name = "weight", "bias"
    container = prune.PruningContainer(first)
    with pytest.raises(ValueError, match="acting on the parameter named 'weight'"):
        container.add_pruning_method(other)
    with pytest.raises(TypeError, match="is not a BasePruningMethod subclass"):
        container.add_pruning_method(10)
    assert [prune._compute_nparams_toprune(a, 15) for a in (0, 10, 1.0, 0.4)] == [0, 10, 15, 6]
    with pytest.raises(ValueError, match="should be smaller than"):
        prune._validate_pruning_amount(20, 19)


def test_a_getattr_of_a_class_is_asked_for_parameters_too():
    asked = []

    class Mixin:
        def __getattr__(self, name):
            asked.append(name)
            return super().__getattr__(name)

    class Net(Mixin, torch.nn.Linear):
        pass

    class Below(Net):
        pass

    net, below = Net(2, 2), Below(2, 2)
    below.child, below.place = torch.nn.Identity(), torch.nn.Buffer(torch.ones(1))
    asked.clear()
    net(torch.ones(1, 2))
    assert asked == ["weight", "bias"]
    assert below.child(below.place) is below.place and below.training
    assert asked == ["weight", "bias", "child", "place", "place"]
    assert not hasattr(below, "none")

    class Own(torch.nn.Linear):
        def __getattribute__(self, name):
            asked.append("own " + name)
            return super().__getattribute__(name)

        def __getattr__(self, name):
            return super().__getattr__(name)

    own = Own(1, 1)
    asked.clear()
    assert own.weight.shape == (1, 1) and "own weight" in asked


def test_modules_call_functional_as_it_is_now(monkeypatch):
    """Tools that count replace functions of torch.nn.functional for a while."""
    F, nn, seen = torchlite.nn.functional, torchlite.nn, []
    modules = {"relu": nn.ReLU(), "conv2d": nn.Conv2d(1, 1, 1), "max_pool2d": nn.MaxPool2d(2)}
    modules |= {"avg_pool2d": nn.AvgPool2d(2), "adaptive_avg_pool2d": nn.AdaptiveAvgPool2d(1)}
    for name, module in modules.items():
        real = getattr(F, name)
        monkeypatch.setattr(F, name, lambda *a, name=name, real=real, **k: (seen.append(name), real(*a, **k))[1])
        module(torchlite.ones(1, 1, 2, 2))
    assert seen == list(modules)


def test_getattr_can_be_called():
    class Asks(torchlite.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torchlite.nn.Linear(1, 1)

        def ask(self, name):
            return super().__getattr__(name)

    m = Asks()
    assert m.layer.__getattr__("weight") is m.layer.weight and m.ask("layer") is m.layer
    with pytest.raises(AttributeError, match="'Linear' object has no attribute 'nope'"):
        m.layer.__getattr__("nope")


def test_swapped_from_meta():
    """With torch.__future__'s switch parameters are swapped, also for memory of another kind."""
    torchlite.__future__.set_swap_module_params_on_conversion(True)
    try:
        m = torchlite.nn.BatchNorm1d(3, device="meta")
        weight = m.weight
        m.to_empty(device="cpu")
        assert m.weight is weight and weight.device.type == "cpu"
        other = torchlite.nn.Linear(2, 3, device="meta")
        other.load_state_dict(torchlite.nn.Linear(2, 3).state_dict(), assign=True)
        assert other.weight.device.type == "cpu"
    finally:
        torchlite.__future__.set_swap_module_params_on_conversion(False)
