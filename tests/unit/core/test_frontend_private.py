"""Private parts of PyTorch's Python frontend that projects copy or import: they do what PyTorch's do."""

import importlib

import pytest
import torchlite

NAMES = """torch.nn.functional._pair torch.nn.functional._list_with_default torch.nn.functional.BroadcastingList2
    torch.nn.common_types.T torch._jit_internal.unused torch._jit_internal._copy_to_script_wrapper
    torch.hub.MODULE_HUBCONF torch.hub.ENV_TORCH_HOME torch.hub.DEFAULT_CACHE_DIR torch._inductor.config.triton
    torch._logging.set_logs torch.utils._triton.has_triton torch.nn.parallel._functions.Scatter
    torch._decomp.get_decompositions torch.utils._device.DeviceContext torch.types._int torch._C._add_docstr
    torch.optim.optimizer._foreach_doc torch.serialization.MAGIC_NUMBER torch.cuda._utils._get_device_index""".split()


@pytest.mark.parametrize("path", NAMES)
def test_is_there(path):
    module, _, name = path.replace("torch", "torchlite", 1).rpartition(".")
    assert hasattr(importlib.import_module(module), name)


def test_types_of_arguments():
    real = pytest.importorskip("torch.nn.common_types")
    own = importlib.import_module("torchlite.nn.common_types")
    for name, value in vars(real).items():
        if name.startswith("_") and name.endswith("_t"):
            shown = str(getattr(own, name)).replace("torchlite._core.tensor", "torch").replace("torchlite", "torch")
            assert str(value).count("int") == shown.count("int"), name
            assert str(value).count("float") == shown.count("float"), name


@pytest.mark.parametrize("args, kwargs", [((1,), {}), ((1, True), {}), ((1,), {"flag": True}), ((1, False), {})])
def test_boolean_dispatch(args, kwargs):
    def dispatched(module):
        def yes(x, flag=True):
            """Takes it."""
            return "yes", x, flag

        def no(x, flag=False):
            return "no", x, flag

        fn = module.boolean_dispatch("flag", 1, False, yes, no, "somewhere", "chosen")
        return fn(*args, **kwargs), fn.__name__, fn.__module__, fn.__doc__

    own = dispatched(torchlite.nn.functional)
    assert own == dispatched(pytest.importorskip("torch.nn.functional"))


def test_options_of_the_compiler_can_be_set():
    config = importlib.import_module("torchlite._inductor.config")
    config.coordinate_descent_tuning = True
    config.triton.unique_kernel_names = True
    assert importlib.import_module("torchlite._logging").set_logs(recompiles=True) is None
    assert importlib.import_module("torchlite.utils._triton").has_triton() is False


def test_options_of_the_compiler_as_pytorch_has_them():
    def used(lib):
        config = importlib.import_module(lib + "._inductor.config")
        inductor = importlib.import_module(lib + "._inductor")
        saved = config.save_config()
        with config.patch({"triton.cudagraphs": True, "max_autotune": True}), config.patch("cpp.threads", 3):
            inside = config.triton.cudagraphs, config.max_autotune, config.cpp.threads
            config.fx_graph_cache = False
        outside = config.triton.cudagraphs, config.max_autotune, config.cpp.threads
        changed = config.get_config_copy()["fx_graph_cache"]
        config.load_config(saved)
        with pytest.raises(RuntimeError) as refused:
            inductor.list_mode_options("none")
        modes = inductor.list_mode_options(), inductor.list_mode_options("max-autotune"), str(refused.value)
        return inside, outside, changed, config.fx_graph_cache, modes

    real = pytest.importorskip("torch._inductor.config").get_config_copy()
    own = importlib.import_module("torchlite._inductor.config").get_config_copy()
    set_above = {"coordinate_descent_tuning", "triton.unique_kernel_names"}
    assert {k: v for k, v in own.items() if k not in set_above and (k not in real or real[k] != v)} == {}
    assert set(own) == set(importlib.import_module("torchlite._inductor").list_options())
    assert used("torchlite") == used("torch")


def test_default_device_as_a_class():
    from torchlite.utils._device import DeviceContext, set_device

    with DeviceContext("meta"):
        assert torchlite.ones(1).is_meta
    assert set_device("meta")(lambda: torchlite.ones(1))().is_meta
    assert torchlite.ones(1).is_cpu
