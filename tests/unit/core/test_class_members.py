"""Public classes have the public members of PyTorch's: a walk over both. What is not there is listed here."""

import importlib
import warnings

import pytest

from torchlite._core import absent

real = pytest.importorskip("torch")
MODULES = """torch torch.nn torch.nn.utils.rnn torch.nn.utils.parametrize torch.nn.parallel torch.nn.attention
    torch.nn.attention.flex_attention torch.optim torch.optim.lr_scheduler torch.optim.swa_utils torch.utils.data
    torch.utils.hooks torch.utils.flop_counter torch.utils.dlpack torch.utils._pytree torch.utils._python_dispatch
    torch.distributions torch.distributions.constraints torch.distributions.transforms torch.autograd
    torch.autograd.function torch.autograd.graph torch.autograd.profiler torch.autograd.forward_ad torch.fx
    torch.fx.experimental.proxy_tensor torch.library torch.overrides torch.quasirandom torch.futures torch.storage
    torch.serialization torch.amp torch.profiler torch._ops torch._subclasses.fake_tensor""".split()
# types in classes, and what pybind gives each enumeration
IGNORED = {"T_destination", "OptimizerPreHook", "OptimizerPostHook", "name", "value"}
# classes: members that torchlite does not have
WITHOUT = """
BFloat16Storage BoolStorage ByteStorage CharStorage ComplexDoubleStorage ComplexFloatStorage DoubleStorage
    FloatStorage HalfStorage IntStorage LongStorage ShortStorage Storage TypedStorage: cuda hpu pin_memory
BackwardCFunction: apply_boxed apply_jvp mark_shared_storage materialize_grads maybe_clear_saved_tensors requires_grad
BlockMask: as_tuple
CustomOpDef: register_effect
DataLoader: multiprocessing_context
DataParallel: gather parallel_apply replicate scatter
DeviceType ProfilerActivity: PrivateUse1
DistributedDataParallel: broadcast_buffers gather join_device join_hook join_process_group scatter to_kwargs
    will_sync_module_buffers
ExecutionTraceObserver: build_execution_trace_obs_from_env cleanup get_output_file_path get_resources_dir
    get_resources_dir_for_et_path is_registered is_running register_callback set_extra_resource_collection start stop
    unregister_callback
FakeTensor: get_nested_int item_memo nested_int_memo nonzero_memo unique_consecutive_memo unique_memo
FakeTensorMode: avoid_device_init cache cache_bypasses cache_clear cache_hits cache_info cache_misses
    can_run_unsafe_fallback cpp_meta_supports_symint create_symbolic_nested_int epoch in_kernel_invocation
    invalidate_written_to_constants is_our_fake lift_fns may_turn_const nt_tensor_id_counter
    nt_tensor_id_initial_count reset_nt_tensor_id_counter stack validate_and_convert_non_fake_tensors
    wrap_meta_outputs_with_default_device_logic
Function InplaceFunction: boxed_grads_call clear_saved_tensors_on_access dirty_tensors mark_dirty
    mark_non_differentiable mark_shared_storage materialize_grads maybe_clear_saved_tensors metadata needs_input_grad
    next_functions non_differentiable register_hook register_prehook requires_grad save_for_backward save_for_forward
    saved_for_forward saved_tensors saved_variables set_materialize_grads to_save
FunctionCtx: mark_shared_storage
FunctionEvent: append_cpu_child append_kernel cuda_time cuda_time_total metadata_json self_cuda_memory_usage
    self_cuda_time_total set_cpu_parent
GradientEdge: ownership_token
Graph: create_size_node create_storage_offset_node create_stride_node materialize_symint materialize_symints
HigherOrderOperator: dispatch gen_schema py_autograd_impl
KeyEntry: get
Library: register_symm_mem_args
LinearCrossEntropyOptions: acc_dtype acc_policy allow_retain_graph batch_chunk_size chunking_method
NestedIOFunction: backward_extended boxed_grads_call clear_saved_tensors_on_access dirty_tensors forward_extended
    mark_dirty mark_non_differentiable mark_shared_storage materialize_grads maybe_clear_saved_tensors metadata
    needs_input_grad next_functions non_differentiable register_hook register_prehook requires_grad save_for_backward
    save_for_forward saved_for_forward saved_tensors saved_variables set_materialize_grads to_save
Node: graph meta op target type users
ProxyTorchDispatchMode: enable_decompositions enable_tracing
PyTorchFileReader: get_record_offset_no_read
PyTorchFileWriter: serialization_id set_min_version write_record_metadata
PythonKeyTracer: enable_thunkify
ScriptFunction: code get_debug_state graph graph_for inlined_graph qualified_name save save_to_buffer schema
StorageType: dtype
SymInt: as_integer_ratio bit_length conjugate
UntypedStorage: cuda hpu mps pin_memory
finfo: bits dtype eps max min resolution smallest_normal tiny
iinfo: bits dtype max min
profile: config create_trace_id default_trace_id get_trace_id prepare_trace set_custom_trace_id_callback start_trace
    stop_trace toggle_collection_dynamic
"""


def known():
    """class -> its members in the list."""
    rows = (row.partition(": ") for row in WITHOUT.replace("\n    ", " ").strip().splitlines())
    return {name: set(rest.split()) for names, _, rest in rows for name in names.split()}


def classes(module):
    """The public classes of a module of PyTorch's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in dir(module):
            kind = getattr(module, name, None) if name[0] != "_" else None
            if isinstance(kind, type) and type(kind).__name__ != "tensortype":
                if (kind.__module__ or "").startswith("torch"):
                    yield name, kind


def is_there(kind):
    """Whether it can be used, and does not only say that torchlite lacks it."""
    code = getattr(getattr(kind, "__new__", None), "__code__", None)
    return code is not absent._class("", "").__new__.__code__


def lacks(path):
    """class -> what torchlite's class of this name lacks."""
    own, found = importlib.import_module(path.replace("torch", "torchlite", 1)), {}
    for name, kind in classes(importlib.import_module(path)):
        here = getattr(own, name, None)
        if isinstance(here, type) and is_there(here):
            missing = {m for m in dir(kind) if m[0] != "_"} - set(dir(here)) - IGNORED
            if missing:
                found[name] = missing
    return found


def without(found, taken):
    """What is left of class -> members without another such dict."""
    left = {name: sorted(members - taken.get(name, set())) for name, members in found.items()}
    return {name: members for name, members in left.items() if members}


@pytest.mark.parametrize("path", MODULES)
def test_members(path):
    assert without(lacks(path), known()) == {}


def test_the_list_has_nothing_else():
    found = {}
    for path in MODULES:
        for name, members in lacks(path).items():
            found.setdefault(name, set()).update(members)
    assert without(known(), found) == {}
