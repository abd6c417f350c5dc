"""Private names of PyTorch that packages import, with what they do."""

import collections
import dataclasses
import importlib
import sys

import pytest

import torchlite as torch

NAMES = """
_C._log_api_usage_once _C._get_tracing_state _C._are_functorch_transforms_active _C._TensorMeta
_C._is_tracing utils._foreach_utils._foreach_supported_types distributed._composable_state._get_module_state
nn.init._no_grad_fill_ nn.init._no_grad_trunc_normal_ _utils.ExceptionWrapper
utils.data._utils.HAS_NUMPY utils.data._utils.signal_handling._set_SIGCHLD_handler set_vital
utils.data._utils.worker._ResumeIteration utils.data.dataloader._sharding_worker_init_fn
_dynamo.exc.TorchDynamoException _dynamo.utils.disable_cache_limit
distributed.fsdp._common_utils._FSDPState distributed.fsdp.fully_sharded_data_parallel.BackwardPrefetch
_C._jit_set_profiling_executor _C._jit_set_profiling_mode _assert _assert_async _utils._flatten_dense_tensors
_utils._unflatten_dense_tensors _utils._get_available_device_type _utils._get_device_module jit.TracerWarning
jit._overload jit._script_if_tracing serialization.MAP_LOCATION optim.optimizer.ParamsT
optim.optimizer._default_to_fused_or_foreach optim.optimizer._use_grad_for_differentiable
utils._contextlib._DecoratorContextManager utils._foreach_utils._group_tensors_by_device_and_dtype
utils._python_dispatch.is_traceable_wrapper_subclass utils._python_dispatch.TorchDispatchMode utils._pytree.Context
utils._pytree.PyTree utils._pytree.KeyPath utils._pytree.MappingKey utils._pytree._dict_flatten
utils._pytree._dict_flatten_with_keys utils._pytree._get_node_type utils._pytree._list_flatten
utils._pytree._list_flatten_with_keys utils._pytree._list_unflatten utils._pytree.arg_tree_leaves
utils._pytree.treespec_dumps utils._pytree.treespec_loads
""".split()


@pytest.mark.parametrize("name", NAMES)
def test_is_there(name):
    module, _, attribute = name.rpartition(".")
    home = importlib.import_module("torchlite" + ("." + module if module else ""))
    assert hasattr(home, attribute)


def _values():
    named = collections.namedtuple("named", "a b")
    ordered, default = collections.OrderedDict(z=5), collections.defaultdict(list, {"k": [6]})
    return {"a": [1, (2, None)], "b": named(3, [4]), "c": ordered, "d": default, "e": collections.deque([7], maxlen=3)}


def test_paths_in_trees():
    tree = importlib.import_module("torchlite.utils._pytree")
    values = _values()
    found = tree.tree_leaves_with_path(values)
    assert [tree.keystr(path) for path, _ in found] == [
        "['a'][0]",
        "['a'][1][0]",
        "['a'][1][1]",
        "['b'].a",
        "['b'].b[0]",
        "['c']['z']",
        "['d']['k'][0]",
        "['e'][0]",
    ]
    assert all(tree.key_get(values, path) is leaf for path, leaf in found)
    both = tree.tree_map_with_path(lambda path, x, y: (tree.keystr(path), x + y), {"a": [1]}, {"a": [3]})
    assert both == {"a": [("['a'][0]", 4)]}


def test_trees_are_matched_by_key_and_kind():
    tree = importlib.import_module("torchlite.utils._pytree")

    def add(a, b):
        return tree.tree_map(lambda x, y: x + y, a, b)

    assert list(add({"a": 1, "b": 2}, collections.OrderedDict(b=20, a=10)).items()) == [("a", 11), ("b", 22)]
    assert add(collections.defaultdict(int, a=1), {"a": 2}) == {"a": 3}
    for a, b, text in [
        ([1, 2], (3, 4), "Node type mismatch; expected <class 'list'>, but got <class 'tuple'>."),
        ([1, 2], [3], "Node arity mismatch; expected 2, but got 1."),
        ({"a": 1}, {"b": 3}, "Node keys mismatch; missing key(s): {'a'}; extra key(s): {'b'}."),
    ]:
        with pytest.raises(ValueError) as e:
            add(a, b)
        assert str(e.value) == text


def test_shapes_of_trees_as_json():
    tree = importlib.import_module("torchlite.utils._pytree")
    values = {k: v for k, v in _values().items() if k != "b"}
    spec = tree.tree_structure(values)
    assert tree.treespec_loads(tree.treespec_dumps(spec)) == spec
    point = collections.namedtuple("point", "x y")
    spec = tree.tree_structure(point(1, 2))
    with pytest.raises(NotImplementedError, match="Can't serialize TreeSpec of namedtuple class"):
        tree.treespec_dumps(spec)
    tree._register_namedtuple(point, serialized_type_name="test.point")
    assert tree.treespec_loads(tree.treespec_dumps(spec)) == spec
    with pytest.raises(NotImplementedError, match="Deserialization of os.system in pytree is not registered"):
        tree.treespec_loads('[1, {"type": "os.system", "context": "null", "children_spec": []}]')


def test_dataclasses_in_trees():
    tree = importlib.import_module("torchlite.utils._pytree")

    @dataclasses.dataclass
    class Pair:
        x: int
        y: object

    tree.register_dataclass(Pair)
    assert tree.tree_map(lambda v: v + 1, Pair(1, [2, 3])) == Pair(2, [3, 4])
    assert tree.keystr(tree.tree_leaves_with_path(Pair(1, [2]))[1][0]) == ".y[0]"


def test_tensors_in_one_and_back():
    utils = importlib.import_module("torchlite._utils")
    tensors = [torch.ones(2, 2), torch.arange(3.0)]
    flat = utils._flatten_dense_tensors(tensors)
    assert flat.tolist() == [1, 1, 1, 1, 0, 1, 2]
    assert [t.shape for t in utils._unflatten_dense_tensors(flat, tensors)] == [(2, 2), (3,)]
    groups = importlib.import_module("torchlite.utils._foreach_utils")._group_tensors_by_device_and_dtype(
        [[torch.ones(1), torch.ones(2, dtype=torch.float64)], []], with_indices=True
    )
    assert [(key[1], len(lists[0]), at) for key, (lists, at) in groups.items()] == [
        (torch.float32, 1, [0]),
        (torch.float64, 1, [1]),
    ]


def test_decorating_contexts():
    base = importlib.import_module("torchlite.utils._contextlib")
    log = []

    class Noted(base._DecoratorContextManager):
        def __enter__(self):
            log.append("in")

        def __exit__(self, *exc):
            log.append("out")

    @Noted()
    def numbers():
        log.append(1)
        yield 1
        log.append(2)
        yield 2

    @Noted()
    def plain():
        log.append("ran")
        return 3

    assert plain() == 3 and log == ["in", "ran", "out"]
    log.clear()
    made = numbers()
    assert next(made) == 1 and log == ["in", 1, "out"]
    assert list(made) == [2] and log[3:] == ["in", 2, "out", "in", "out"]


def test_asserts():
    torch._assert(torch.ones(1) == 1, "never")
    with pytest.raises(AssertionError, match="no"):
        torch._assert(False, "no")
    with pytest.raises(RuntimeError, match="Expected Tensor with single nonzero value, but got zero"):
        torch._assert_async(torch.zeros(1))
    with pytest.raises(RuntimeError, match="Boolean value of Tensor with more than one value is ambiguous"):
        torch._assert_async(torch.zeros(2))


def test_functions_of_the_core_by_pytorchs_names():
    """torch._C._VariableFunctions and its like have the public functions; the others are there and refuse."""
    for name, public in (
        ("_VariableFunctions.add", torch.add),
        ("_linalg.linalg_det", torch.linalg.det),
        ("_special.special_erf", torch.special.erf),
        ("_fft.fft_rfft", torch.fft.rfft),
    ):
        space, _, function = name.partition(".")
        assert getattr(getattr(torch._C, space), function) is public
    with pytest.raises(NotImplementedError, match="torch._C._VariableFunctions._efficientzerotensor: "):
        torch._C._VariableFunctions._efficientzerotensor((2,))
    with pytest.raises(AttributeError):
        torch._C._VariableFunctions.no_such_function  # noqa: B018
    with pytest.raises(AttributeError):
        torch._C._nn.no_such_function  # noqa: B018


def test_namespaces_of_the_core_can_be_imported():
    space = importlib.import_module("torchlite._C._functorch")
    assert space is torch._C._functorch is sys.modules["torchlite._C._functorch"]
    x = torch.ones(2)
    assert not any(
        getattr(space, name)(x)
        for name in ("is_batchedtensor", "is_gradtrackingtensor", "is_functorch_wrapped_tensor", "is_functionaltensor")
    )
    assert space.maybe_get_level(x) == space.maybe_get_bdim(x) == -1 and space.peek_interpreter_stack() is None
    with pytest.raises(RuntimeError, match="No wrappers present!"):
        space.get_unwrapped(x)
    for name in ("torchlite._C._no_such_space", "torchlite._C._functorch.more"):
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(name)


def test_the_index_of_a_device():
    index = torch._utils._get_device_index
    assert index(3) == 3 and index("cuda:1") == 1 and index("cpu", allow_cpu=True) == -1
    with pytest.raises(ValueError, match="Expected a non cpu device, but got: cpu"):
        index(torch.device("cpu"))
    with pytest.raises(ValueError, match="Expected a torch.device with a specified index or an integer, but got:None"):
        index(None)


def test_a_profile_that_another_part_began():
    ask = torch.autograd._profiler_enabled
    assert not ask() and torch.autograd._disable_profiler() is None
    with torch.profiler.profile() as recording:
        torch.ones(2) + 1
        assert ask()
    assert not ask() and any(event.name == "aten::add" for event in recording.events())


def test_subclasses_print_with_the_core_s_functions():
    class Marked(torch.Tensor):
        def __repr__(self):
            return torch._tensor_str._str_intern(self, tensor_contents="...")

    assert repr(torch.ones(2).as_subclass(Marked)) == "Marked(...)"
    text = torch._tensor_str._add_suffixes("Index([1, 2]", ["dim_size=4"], 6, False)
    assert text == "Index([1, 2], dim_size=4)"


def test_conditions_on_sizes_are_known():
    from torchlite.fx.experimental import symbolic_shapes as symbols

    assert symbols.guard_or_false(torch.ones(3).shape[0] == 3) and not symbols.statically_known_true(False)
    with pytest.raises(AssertionError, match="Expected bool, got <class 'int'>"):
        symbols.guard_or_true(3)
    assert not symbols.free_symbols(torch.ones(3))


def test_a_storage_of_bytes():
    assert torch.ByteStorage._from_buffer(b"abc").tolist() == [97, 98, 99]
    assert torch.FloatStorage._from_buffer(bytes(8), "native").tolist() == [0.0, 0.0]


def test_no_stream_is_the_only_stream():
    with torch.cuda.stream(None) as entered:
        assert entered is None and torch.cuda.set_stream(None) is None
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        torch.cuda.stream(object())


def test_exceptions_from_other_threads():
    class Two(Exception):
        def __init__(self, a, b): ...

    for error, kind in ((KeyError("k"), KeyError), (ValueError("v"), ValueError), (Two(1, 2), RuntimeError)):
        try:
            raise error
        except Exception:
            caught = torch._utils.ExceptionWrapper(where="in worker 3")
        with pytest.raises(kind, match=r"^Caught %s in worker 3.\nOriginal Traceback" % type(error).__name__):
            caught.reraise()


def test_contexts_of_jit_are_decorators():
    @torch._dynamo.utils.disable_cache_limit()
    @torch.jit.optimized_execution(False)
    @torch.jit.fuser("fuser0")
    def f(x):
        return x + 1

    with torch.jit.fuser("fuser1"):
        assert f(1) == 2
