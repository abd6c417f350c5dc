"""Private names of PyTorch's core that programs call, line by line beside PyTorch."""

import pytest
from alike import alike, cases

import torchlite


@cases("""
torch._unique(torch.tensor([3, 1, 3]))
torch._unique(torch.tensor([3., 1, 3]), True, True)
torch._unique(torch.ones(2, requires_grad=True))[0].sum().backward()
torch._aminmax(torch.ones(2, requires_grad=True))[0].backward()
torch._stack([torch.ones(2, requires_grad=True)] * 2).sum().backward()
torch._cast_Long(torch.tensor([1.7, -1.7])), torch._cast_Half(torch.ones(2, requires_grad=True)).requires_grad
torch._dim_arange(torch.ones(2, 3), 1)
torch._reshape_from_tensor(torch.arange(6), torch.tensor([2, 3]))
torch._unsafe_index(torch.arange(6), [torch.tensor([1, 2])])
torch._unsafe_index_put(torch.zeros(3), [torch.tensor([1, 1])], torch.ones(2), True)
torch._histogramdd_bin_edges(torch.arange(6.).view(3, 2), [2, 3])
torch._histogramdd_from_bin_cts(torch.arange(6.).view(3, 2), [2, 3])
torch._histogramdd_from_bin_tensors(torch.arange(6.).view(3, 2), [torch.tensor([0., 3, 9])] * 2)
torch._add_relu_(torch.tensor([-1., 2]), torch.tensor([0., 2]), alpha=2)
torch._pack_padded_sequence(torch.arange(12.).view(3, 2, 2), torch.tensor([3, 1]), False)
torch._pack_padded_sequence(torch.arange(12.).view(3, 2, 2), torch.tensor([1, 3]), False)
torch._pack_padded_sequence(torch.arange(12.).view(3, 2, 2), torch.tensor([3.]), False)
torch._pack_padded_sequence(torch.arange(12.).view(3, 2, 2), torch.tensor([3]), False)
torch._pad_packed_sequence(torch.arange(4.).view(4, 1), torch.tensor([2, 1, 1]), True, -1, 5)
torch._pad_packed_sequence(torch.arange(4.).view(4, 1), torch.tensor([2, 1, 1]), True, -1, 0)
torch._pad_packed_sequence(torch.arange(4.).view(4, 1), torch.tensor([2, 1, 1]), True, -1, 1)
torch._batch_norm_impl_index(torch.arange(6.).view(3, 2), None, None, torch.zeros(2), torch.ones(2), False, .1, 1e-5,
    True)
torch._masked_softmax(torch.zeros(2, 2), torch.tensor([[True, True], [True, False]]))
torch._masked_softmax(torch.zeros(2, 2, 2, 2), torch.tensor([[True, False], [False, False]]), 3, 0)
torch._masked_softmax(torch.zeros(2, 2, 2, 2), torch.tensor([[True, False], [False, False]]), 3, 1)
torch._masked_softmax(torch.zeros(2, 2), torch.zeros(2, 2))
torch._masked_softmax(torch.zeros(2, 2), torch.zeros(2, dtype=torch.bool))
torch._fused_sdp_choice(*[torch.ones(1, 2, 3, 4)] * 3), torch._fused_sdp_choice(*[torch.ones(2, 3, 4)] * 3)
torch._fused_sdp_choice(*[torch.ones(1, 2, 3, 4)] * 3, dropout_p=.5)
torch._linalg_det(torch.eye(2)), torch._linalg_slogdet(torch.eye(2))
torch.is_same_size(torch.ones(2), torch.ones(2, 1)), torch._nnpack_available()
""")
def test_functions(line):
    alike(line)


@cases("""
torch.nn.functional.scaled_dot_product_attention(*[torch.ones(1, 1, 2, 3)] * 3)
b = torch.backends.cuda; [f() for f in (b.flash_sdp_enabled, b.math_sdp_enabled, b.mem_efficient_sdp_enabled)]
from torch.nn.attention import SDPBackend as S, sdpa_kernel as k; b = torch.backends.cuda;
    c = k(S.MATH); c.__enter__(); r = [b.flash_sdp_enabled(), b.math_sdp_enabled(), b.cudnn_sdp_enabled()];
    c.__exit__(None, None, None); r + [b.flash_sdp_enabled()]
from torch.nn.attention import SDPBackend as S, sdpa_kernel as k;
    k([S.EFFICIENT_ATTENTION])(F.scaled_dot_product_attention)(*[torch.ones(1, 1, 2, 3)] * 3)
""")
def test_kernels_of_attention_that_are_switched_off(line):
    alike(line)


@cases("""
torch.solve(torch.ones(2, 2), torch.ones(2, 2))
torch.lstsq(torch.ones(2, 2), torch.ones(2, 2))
torch.eig(torch.ones(2, 2))
torch.symeig(torch.ones(2, 2), eigenvectors=True)
torch.matrix_rank(torch.ones(2, 2))
torch.ones(2, 2).solve(torch.ones(2, 2))
torch.ones(2, 2).symeig()
""")
def test_functions_that_were_removed(line):
    alike(line)


@cases("""
torch._C._infer_size(torch.Size((2, 1)), torch.Size((3,)))
torch._C._infer_size(torch.Size((2, 2)), torch.Size((3,)))
torch._C._infer_size((2, 2), (3,))
torch._C._is_alias_of(x := torch.ones(4), x[2:]), torch._C._is_alias_of(torch.ones(2), torch.ones(2))
torch._C._is_torch_function_enabled(), torch._C._is_torch_function_all_disabled()
c = torch._C.DisableTorchFunction(); c.__enter__(); r = torch._C._is_torch_function_all_disabled();
    c.__exit__(None, None, None); r
torch._C._dispatch_has_kernel('aten::add.Tensor'), torch._C._dispatch_has_kernel('aten::no_such_op')
torch._C._get_mkldnn_enabled(), torch._C._get_cudnn_enabled(), torch._C._get_math_sdp_enabled()
torch._C._set_cpu_allow_fp16_reduced_precision_reduction(True)
torch._C._get_cpu_allow_fp16_reduced_precision_reduction()
torch._C._len_torch_function_stack(), torch._C.get_num_threads() > 0, torch._C.device is torch.device
torch._C._current_autograd_node()
torch._C._will_engine_execute_node(torch.ones(2, requires_grad=True).clone().grad_fn)
torch._C._will_engine_execute_node(torch.ones(2))
torch._C._current_graph_task_execution_order()
x = torch.ones(2, requires_grad=True); y = x * 2; r = [];
    y.register_hook(lambda g: r.append((torch._C._current_autograd_node().name(),
        torch._C._autograd._get_current_graph_task_keep_graph(), torch._C._will_engine_execute_node(y.grad_fn))));
    y.sum().backward(); r
x = torch.ones(2, requires_grad=True); r = [];
    x.register_post_accumulate_grad_hook(lambda t: r.append(torch._C._current_autograd_node().name()));
    (x * 2).sum().backward(); r
x = torch.ones(2, requires_grad=True); y = x * 2; r = [];
    z = y * x.sin() + y.cos();
    z.register_hook(lambda g: r.extend(n.name() for n in torch._C._current_graph_task_execution_order()));
    s = torch.autograd.set_multithreading_enabled(False); s.__enter__(); z.backward(torch.ones(2));
    s.__exit__(None, None, None); r
x = torch.ones(2, requires_grad=True); torch._C._functions.DelayedError('Boom', 1)(x).sum().backward()
x = torch.ones(2, requires_grad=True); isinstance((x * 2).grad_fn.next_functions[0][0],
    torch._C._functions.AccumulateGrad)
x = torch.ones(2).add_(1); torch._C._autograd._unsafe_set_version_counter((x,), (7,)); x._version
torch._C._autograd._unsafe_set_version_counter((torch.ones(2),), (1, 2))
x = torch.ones(2).add_(1); p = torch.autograd._unsafe_preserve_version_counter(x); p.__enter__(); x.add_(1);
    p.__exit__(None, None, None); x._version
torch._C._autograd._saved_tensors_hooks_is_enabled(), torch._C._autograd._profiler_enabled()
f = torch._C._autograd._get_sequence_nr; n = f(); y = torch.ones(2, requires_grad=True) * 2 + 1; f() - n
torch._C._stash_obj_in_tls('k', 3); torch._C._is_key_in_tls('k'), torch._C._get_obj_in_tls('k')
x = torch.ones(2); w = torch._C._WeakTensorRef(x); r = [w.expired()]; del x; r + [w.expired()]
x = torch.ones(2); torch._C._set_cached_tensors_enabled(True); torch._C._add_cached_tensor(x);
    r = torch._C._is_cached_tensor(x); torch._C._set_cached_tensors_enabled(False); r, torch._C._is_cached_tensor(x)
torch.onnx.producer_name, torch.onnx.producer_version
""")
def test_what_the_core_says(line):
    alike(line)


def test_rows_of_a_profile_by_the_core_s_names():
    ops = torchlite.ops.profiler
    with torchlite.profiler.profile() as recording:
        with torchlite._C._profiler._RecordFunctionFast("fast"):
            torchlite.ones(2) + 1
        ops._record_function_exit(ops._record_function_enter("by op"))
        ops._record_function_exit._RecordFunction(ops._record_function_enter_new("new"))
        torchlite.autograd._record_function_with_args_exit(
            torchlite.autograd._record_function_with_args_enter("with args", 1)
        )
        assert torchlite.autograd.profiler._is_profiler_enabled
    assert {"fast", "by op", "new", "with args"} <= {event.name for event in recording.events()}
    with pytest.raises(TypeError, match="argument 'name' must be str, not int"):
        torchlite._C._profiler._RecordFunctionFast(1)


def test_namespaces_can_be_imported():
    from torchlite._C._autograd import SavedTensor  # noqa: F401
    from torchlite._C._functions import AccumulateGrad  # noqa: F401
    from torchlite._C._profiler import _ExperimentalConfig, _ExtraFields_PyCall

    assert _ExperimentalConfig(trace_only=True).trace_only
    with pytest.raises(NotImplementedError, match="torch._C._profiler._ExtraFields_PyCall"):
        _ExtraFields_PyCall()


def test_what_is_private_and_not_here_refuses():
    with pytest.raises(NotImplementedError, match="torch._efficientzerotensor: torchlite does not have it"):
        torchlite._efficientzerotensor((2,))
    with pytest.raises(AttributeError, match="module 'torch' has no attribute '_no_such_name'"):
        torchlite._no_such_name  # noqa: B018
