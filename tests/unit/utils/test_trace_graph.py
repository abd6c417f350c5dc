"""torch.jit._get_trace_graph beside PyTorch's: kinds, scopes, shapes, constants. Sizes are plain numbers here."""

import pytest
import torchlite
from alike import torch as pytorch

LEFT_OUT = ("prim::Constant", "prim::TupleConstruct", "aten::size", "prim::NumToTensor", "aten::Int", "aten::slice")


def convolutions(lib):
    nn = lib.nn
    return nn.Sequential(
        nn.Conv2d(3, 4, 3, stride=2, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.MaxPool2d(2),
        nn.ConvTranspose2d(4, 2, 2), nn.GroupNorm(2, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(),
        nn.Linear(2, 3), nn.LayerNorm(3), nn.GELU(), nn.Softmax(-1),
    )  # fmt: skip


def arithmetic(lib):
    class Arithmetic(lib.nn.Module):
        def forward(self, x):
            unused = x * 3  # noqa: F841
            a, b = x.chunk(2, 0)
            y = lib.einsum("bchw,bcxw->bhx", a, b)
            y += 1
            z = lib.cat([y, (y @ y).transpose(1, 2)])
            return lib.nn.functional.interpolate(x, scale_factor=2, mode="bilinear"), z[:, None].pow(2).sum()

    return lib.nn.Sequential(Arithmetic())


def seen(lib, make):
    model = make(lib)
    state = lambda: lib._C._get_tracing_state()
    for name, m in model.named_modules():
        m.register_forward_pre_hook(lambda m, args, name=name: state().push_scope(name))
        m.register_forward_hook(lambda m, args, out: state().pop_scope())
    graph, _ = lib.jit._get_trace_graph(model, (lib.ones(2, 3, 8, 8),))
    assert not state() and not lib.jit.is_tracing()
    return [
        (n.kind(), n.scopeName(), [shown(v) for v in n.inputs()], [shown(v) for v in n.outputs()])
        for n in graph.nodes()
        if n.kind() not in LEFT_OUT
    ], len(list(graph.inputs()))


def shown(value):
    if value.isCompleteTensor():
        return value.type().scalarType(), value.type().sizes()
    return value.toIValue() if value.node().kind() == "prim::Constant" else value.node().kind()


@pytest.mark.parametrize("make", (convolutions, arithmetic))
def test_nodes(make):
    assert seen(torchlite, make) == seen(pytorch, make)


def test_the_graph_prints_and_errors_end_the_trace():
    graph, out = torchlite.jit._get_trace_graph(lambda x: (x + 1).relu(), (torchlite.ones(2),))
    assert out.tolist() == [2, 2] and "= aten::relu(%" in str(graph) and graph.findAllNodes("aten::add")

    def wrong(x):
        assert torchlite.jit.is_tracing()
        return x @ x.new_ones(3, 3)

    with pytest.raises(RuntimeError):
        torchlite.jit._get_trace_graph(wrong, (torchlite.ones(2, 2),))
    assert not torchlite.jit.is_tracing() and torchlite.ones(2).relu().sum() == 2
