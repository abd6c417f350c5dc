"""The intended differences from PyTorch, each with its reason. Every other difference is a finding.

Differences in numbers are in known_values.py."""

from __future__ import annotations

import re
from typing import Any

from fuzz.known_values import VALUES, Meant

MEANT = [
    *VALUES,
    Meant("dtype", r"mish_backward\(", "", 0, "PyTorch's result has the input's dtype, not the promoted one"),
    Meant(
        "raises RuntimeError, nothing",
        r"mish_backward\(",
        "PyTorch .*same dtype",
        0,
        "mish_backward's dtype (above), met by a later line that wants one dtype",
    ),
    Meant(
        "raises RuntimeError, nothing",
        r"unsafe_split\w*\((?s:.*)view_as_complex\(",
        "PyTorch setStorage: sizes",
        0,
        "PyTorch's gradient of an unsafe split that was written to takes it for a view of the whole",
    ),
    Meant(
        "graph",
        r"F\.linear\((?s:.*)requires_grad_\(\)",
        "is_leaf=True",
        0,
        "whether the result of linear is a view of its flattened product; a view of a view requires no gradient later",
    ),
    Meant(
        "raises nothing, NotImplementedError",
        r"hash_tensor\(",
        "torchlite .*webgpu only stores torch.uint64",
        0,
        "the hash of a tensor is uint64, which webgpu stores and does not compute with; the error says so",
        device="webgpu",
    ),
    Meant(
        "raises nothing, RuntimeError",
        r"linear\(.*out=",
        "torchlite unsupported operation: more than one element of the written-to",
        0,
        "PyTorch's linear with a bias writes into an expanded out= unasked",
    ),
    Meant(
        "version|value",
        r"(view_as_(complex|real)|conj)\((?s:.*)autograd\.grad\(",
        "",
        0,
        "whether the gradient of a view of a changed tensor shares the memory of the gradient it was made of",
    ),
    Meant(
        "raises nothing, RuntimeError",
        r"_pool1d\w*\((?s:.*)requires_grad_\(\)(?s:.*)no_grad\(\)",
        "torchlite A view was created in no_grad mode",
        0,
        "as the next one: the view of a leaf, written to with gradients on",
    ),
    Meant(
        "graph",
        r"_pool1d\w*\((?s:.*)requires_grad_\(\)",
        "is_leaf=True",
        0,
        "PyTorch's pools over one dim are views of those over two; a view of a view requires no gradient later",
    ),
    Meant(
        "(grad's )?graph",
        r"segment_reduce\(",
        "grad_fn=True.*torchlite requires_grad=False",
        0,
        "the gradient is constant; PyTorch's has a graph that raises when it is asked for a derivative",
    ),
    Meant(
        "raises RuntimeError, nothing",
        r"(unfold|as_strided)_?\(|(?m:^t\d+\[.*\] = t\d+$)",
        "some elements of the input tensor and the written-to tensor refer to a single memory location",
        0,
        "PyTorch takes the stride of a dim of size 1 for overlap, also in a copy of a tensor to itself",
    ),
    Meant(
        "raises NotImplementedError, RuntimeError",
        r"(clip|clamp)_?\(",
        "PyTorch clamp is not supported for complex types.*torchlite The size of tensor",
        0,
        "a call with two mistakes: PyTorch names the dtype, torchlite the shapes",
    ),
    Meant(
        "graph",
        r"conj\((?s:.*)(masked_fill_\(|\] [-+*/]?= )(?s:.*)autograd\.grad\(",
        "PyTorch requires_grad=True, is_leaf=True.*torchlite requires_grad=False",
        0,
        "the gradient is the given tensor itself, and PyTorch makes it require a gradient",
    ),
    Meant(
        "raises NotImplementedError, RuntimeError",
        r"linalg\.solve\(",
        'PyTorch "lu_cpu".*torchlite .*Low precision',
        0,
        "both refuse 16 bits; two checks have texts of their own, and another one comes first",
    ),
    Meant("raises RuntimeError, nothing", "gelu_backward", "itensor_view_from_dense", 0, "PyTorch's oneDNN path"),
    Meant(
        "raises RuntimeError, nothing",
        r"conv_tbc\(",
        "PyTorch view size is not compatible",
        0,
        "the gradient of PyTorch's conv_tbc takes views that another layout does not allow",
    ),
    Meant(
        "stride",
        r"complex(?s:.*)solve_triangular\(",
        "",
        0,
        "PyTorch solves with a conjugate transpose by rows, and by columns otherwise",
    ),
    Meant("stride", r"torch\.abs\(t\d+, out=", "", 0, "PyTorch's abs of complex numbers leaves an out= contiguous"),
    Meant(
        "raises nothing, RuntimeError",
        r"\.retain_grad\(\)(?s:.*)\.(t|transpose|swapaxes|swapdims|squeeze|unsqueeze)_\(",
        "torchlite The size of tensor a",
        0,
        "a retained gradient has the tensor's shape; in PyTorch that from before the shape was changed in place",
    ),
    Meant(
        "stride",
        r"chunk\((?s:.*)logical_\w+_\(",
        "",
        0,
        "a write that is refused leaves the history of the views as PyTorch had begun to change it",
    ),
    Meant(
        "raises nothing, RuntimeError",
        r"(rnn_tanh|rnn_relu|gru|lstm)_cell\(",
        "torchlite one of the variables needed for gradient computation has been modified by an inplace operation",
        0,
        "a recurrent step saves its weights and states, whichever of them has a gradient",
    ),
    Meant("stride", r"(rnn_tanh|rnn_relu|gru|lstm)_cell\(", "", 0, "gradients of weights are contiguous", order=1),
    Meant(
        "raises nothing, NotImplementedError",
        r"hash_tensor\(",
        'torchlite "arg(max|min)_cpu" not implemented for \'UInt64',
        0,
        "PyTorch's argmax along a dim of size 1 asks for no kernel",
    ),
    Meant(
        "raises nothing, RuntimeError",
        r"linear\(",
        r"torchlite self and mat2 must have the same dtype",
        0,
        "PyTorch's linear adds a bias of another dtype where the input has one dim",
    ),
    Meant("stride", r"ldexp_?\(", "", 0, "PyTorch's ldexp keeps the order of strides in float64 only"),
    Meant(
        "stride",
        r"group_norm\((?s:.*)create_graph",
        "",
        0,
        "the gradient of an expanded gradient: PyTorch's formula then leaves channels_last",
        order=1,
    ),
    Meant(
        "type",
        r"linalg\.lu\((?s:.*)requires_grad_\(\)",
        "torchlite None",
        0,
        "a permutation made by the op gets no gradient here, even if it is set to require one later",
    ),
    Meant(
        "type|graph",
        r"conv\w*\((?s:.*)\w_\((?s:.*)autograd\.grad\(",
        "PyTorch None|PyTorch requires_grad=True, is_leaf=True",
        0,
        "PyTorch's convolution without a batch is a view of one with a batch, whose views a write to it replaces",
    ),
    Meant(
        "stride",
        r"fft(?s:.*)conj\((?s:.*)\] [-+*/]?= (?s:.*)autograd\.grad\(|"
        r"(view_as_complex|conj)\((?s:.*)\w_\((?s:.*)autograd\.grad\(",
        "",
        0,
        "PyTorch replays a view of conjugates or pairs of what was written to, and takes others for views by strides",
        order=1,
    ),
    Meant(
        "raises RuntimeError, NotImplementedError",
        r"\.(chunk|split|unbind)\w*\(",
        "PyTorch Output \\d+ of \\w+ is a view and its base.*torchlite .*not supported for complex",
        0,
        "a call with two mistakes: PyTorch names the stale view, torchlite the dtype",
    ),
    Meant(
        "raises RuntimeError, nothing",
        r"dtype=\"(u?int\d+|bool)\"| [<>=!]=? |logical_\w+\(",
        "PyTorch A view was created in no_grad mode and its base or another view",
        0,
        "in PyTorch, integers require a gradient once a number that requires one is written to them",
    ),
    Meant(
        "raises nothing, RuntimeError",
        r"F\.linear(?s:.*)exp_\((?s:.*)\.real\.(?s:.*)\[0:\] ",
        "torchlite one of the variables needed for gradient computation has been modified",
        0,
        "PyTorch misses a write to the gradient of a part of complex numbers, through a slice only",
    ),
    Meant(
        "graph",
        r"(_with_indices\(|(median|mode|sort|kthvalue|topk|max|min|cummax|cummin)\(|dtype=\"(bool|u?int\d+)\"|"
        r" [<>=!]=? )(?s:.*)\] = t\d",
        "PyTorch requires_grad=True.*torchlite requires_grad=False",
        0,
        "integers have no history here; in PyTorch they get that of a float that is written to them",
    ),
    Meant(
        "raises RuntimeError, nothing",
        r"kron\(",
        "PyTorch view size is not compatible",
        0,
        "PyTorch's kron takes a view of the product, which another layout does not allow",
    ),
    Meant(
        "raises RuntimeError, IndexError",
        "index_put",
        "PyTorch shape mismatch: value tensor.*torchlite index -?\\d+ is out of bounds",
        0,
        "a call with two mistakes: PyTorch names the shape, torchlite the index",
    ),
    Meant(
        "raises NotImplementedError, nothing",
        "",
        r"PyTorch \"[\w<>]+\" not implemented for 'Complex",
        0,
        "the op takes complex numbers here",
    ),
    Meant(
        "raises RuntimeError, nothing",
        r"convolution_backward\((?s:.*)autograd\.grad\(",
        "PyTorch element 0 of tensors does not require grad",
        0,
        "what is linear in the weights has a graph here, whose gradient is 0",
    ),
    Meant(
        "raises nothing, RuntimeError",
        r"addbmm\(.*out=",
        "torchlite self and mat2 must have the same dtype",
        0,
        "PyTorch's addbmm into an out= of another dtype than self casts self, without a look at what is added",
    ),
    Meant(
        "graph",
        r"_pool1d\((?s:.*)(split|chunk|unbind)\w*\((?s:.*)requires_grad_\(",
        "PyTorch requires_grad=False.*torchlite requires_grad=True",
        0,
        "PyTorch's pools over one dim are views of those over two: views of them have another base",
    ),
    Meant(
        "raises nothing, RuntimeError",
        r"scaled_dot_product_attention\((?s:.*)detach_\(",
        "torchlite Trying to use a saved tensor that has been detached in-place",
        0,
        "PyTorch's attention keeps scaled copies of what it gets",
    ),
    Meant(
        "raises nothing, NotImplementedError",
        r"(cummax|cummin)\(",
        'torchlite "cumm(ax|in)_cpu" not implemented for \'UInt',
        0,
        "PyTorch copies a number without dims, whatever its dtype",
    ),
    Meant(
        "raises nothing, RuntimeError",
        r"_pool1d\((?s:.*)requires_grad_\(",
        "torchlite a view of a leaf Variable that requires grad is being used in an in-place operation",
        0,
        "the same, where a later line writes to one",
    ),
    Meant(
        "graph",
        "convolution_backward",
        "PyTorch requires_grad=False.*torchlite requires_grad=True",
        0,
        "linear in the weights: here the gradient has a graph, whose own gradient is 0",
    ),
    Meant(
        "(grad's )?graph",
        r"group_norm",
        "PyTorch requires_grad=True.*torchlite requires_grad=False",
        0,
        "the gradient of the weight depends on the input only, not on the mean, which PyTorch saves with its history",
        order=1,
    ),
    Meant(
        "raises nothing, RuntimeError",
        r"cross_entropy\(",
        "torchlite one of the variables needed for gradient computation has been modified by an inplace",
        0,
        "the fused loss saves its input, where PyTorch saves the logarithm of the softmax",
    ),
    Meant(
        "grad's presence|type|value|grad",
        "native_group_norm",
        "",
        0,
        "PyTorch loses the gradient of a group's mean, and gives that of its deviation in its place",
        order=1,
    ),
    Meant(
        "raises NotImplementedError, RuntimeError",
        "",
        "PyTorch .* is not supported for complex.*, torchlite unsupported operation: more than one element",
        0,
        "both refuse a complex tensor whose elements share memory; another check comes first",
    ),
    Meant(
        "stride",
        "sgn",
        "",
        0,
        "PyTorch's gradient of sgn is zeros without memory, which lie contiguous in the end",
        order=1,
    ),
    Meant("raises RuntimeError, nothing", "", "INTERNAL ASSERT FAILED", 0, "a mistake of PyTorch's own"),
    Meant(
        "raises RuntimeError, nothing",
        "",
        r"PyTorch ZeroDivisionError",
        0,
        "an integer divisor that only the GPU knows is not checked, as on other GPUs",
        device="webgpu",
    ),
    Meant(
        r"raises (RuntimeError|NotImplementedError), \w+",
        "",
        r"PyTorch (derivative for aten::\w+|the derivative for '.*') is not implemented",
        0,
        "the op has a derivative here, or the overwritten tensor is noticed first",
    ),
    Meant(
        r"raises \w+Error, \w+Error",
        "",
        r"not implemented for 'Complex|Please use torch.sgn instead",
        0,
        "both refuse complex numbers; another check comes first",
    ),
    Meant(
        "raises RuntimeError, nothing",
        "",
        "PyTorch ZeroTensors are immutable",
        0,
        "PyTorch adds to a gradient of zeros without memory",
    ),
    Meant(
        "raises (AttributeError|TypeError), (nothing|RuntimeError)",
        "register_hook",
        "PyTorch .*'?NoneType'?.*, torchlite (nothing|The differentiated Tensor at index|element 0 of|one of the var)",
        0,
        "PyTorch calls the hook of a part of split with None where no gradient reaches that part",
    ),
    Meant(
        "raises nothing, RuntimeError",
        r"kron\(",
        "torchlite one of the variables needed for gradient computation has been modified by an inplace operation",
        0,
        "PyTorch's kron does not notice that its input was changed, and its gradient is wrong",
    ),
    Meant(
        "raises nothing, RuntimeError",
        r"logsumexp\(.*out=",
        r"torchlite result type Complex\w+ can't be cast",
        0,
        "PyTorch takes the logarithm of the real part of the sum there",
    ),
    Meant(
        "raises nothing, RuntimeError",
        r"matmul\(| @ ",
        r"torchlite one of the variables needed for gradient computation has been modified by an inplace operation: "
        r"\[torch\.\w+ \[\d+, \d+, \d+",
        0,
        "a product of batches saves its operands; PyTorch's saves the copies that it made where their rows were not "
        "those of one matrix, and notices no change then",
    ),
    Meant(
        "raises nothing, RuntimeError",
        r"conv\w*\((?s:.*)complex|complex(?s:.*)conv\w*\(",
        r"torchlite (one of the variables needed for gradient computation has been modified by an inplace operation: "
        r"\[torch\.Complex|Trying to use a saved tensor that has been detached in-place)",
        0,
        "PyTorch makes a convolution of complex numbers of real ones, and saves their copies",
    ),
    Meant(
        "raises nothing, RuntimeError",
        r"floor_divide_\(|heaviside_\(",
        r"torchlite (derivative for aten::(floor_divide|heaviside)_ is not implemented|one of the variables needed)",
        0,
        "an error instead of a gradient that is silently missing",
    ),
    Meant(
        "raises RuntimeError, nothing",
        r"index_fill",
        r"PyTorch INDICES element is out of DATA bounds, id=-",
        0,
        "PyTorch's gradient of index_fill does not count from the end",
    ),
    Meant(
        "raises RuntimeError, IndexError",
        "index_put_",
        r"PyTorch Index put requires the source and destination dtypes match.*torchlite index \d+ is out of bounds",
        0,
        "a call with two mistakes; another check comes first",
    ),
    Meant(
        "raises nothing, RuntimeError",
        r"conv\w*\(",
        r"torchlite Input type \(.*\) and bias type \(.*\) should be the same",
        0,
        "PyTorch checks the bias in some of its convolutions only",
    ),
    Meant(
        "raises RuntimeError, nothing",
        r"\w\[\.\.\.\] [-+*/]+= ",
        "PyTorch a leaf Variable that requires grad is being used in an in-place operation",
        0,
        "PyTorch takes a view for a leaf until it is asked for its grad_fn",
    ),
    Meant(
        "graph",
        "detach_|_\\(",
        "PyTorch RuntimeError, torchlite requires_grad",
        0,
        "an internal error of PyTorch, of a view whose shape or base was changed in place",
    ),
    Meant(
        "graph",
        r"detach_\((?s:.*)(view_as_complex|view_as_real|real|imag)\b",
        "PyTorch requires_grad=False, is_leaf=True, grad_fn=False, torchlite requires_grad=True",
        0,
        "the state that PyTorch is in after that internal error, of parts of complex numbers",
    ),
    Meant(
        "raises RuntimeError, nothing",
        r"conj\((?s:.*)\.(un)?squeeze_\(|conj\((?s:.*)\.(t|transpose|swapaxes|swapdims)_\(",
        "PyTorch Function .* returned an invalid gradient at index",
        0,
        "the internal error of a view that was changed in place, of a conjugate view",
    ),
    Meant(
        "raises RuntimeError, nothing",
        r"\.(real|imag)\n(?s:.*)\.(t|transpose|swapaxes|swapdims|squeeze|unsqueeze)_\(",
        r"PyTorch (output with shape .* doesn't match the broadcast shape|The size of tensor a|"
        r"Function \w+ returned an invalid gradient)",
        0,
        "the same, of a part of complex numbers",
    ),
    Meant(
        "raises IndexError, nothing",
        r"complex(?s:.*)unsqueeze_\(",
        "PyTorch index -?\\d+ is out of bounds",
        0,
        "the same, where the dim that PyTorch forgets is indexed",
    ),
    Meant(
        "raises RuntimeError, nothing",
        "binary_cross_entropy_with_logits",
        "PyTorch The function .* is not differentiable with respect to argument 'weight'",
        0,
        "the weight has a gradient here",
    ),
    Meant(
        "raises nothing, RuntimeError",
        r"rms_norm\(|scaled_dot_product_attention\(",
        "torchlite one of the variables needed for gradient computation has been modified by an inplace operation",
        0,
        "the norm's input or the attention's result is saved here, so changing it is an error",
    ),
    Meant(
        "raises nothing, RuntimeError",
        r"torch\.tensor\(.*dtype=torch\.int64|dtype=\"u?int\d+\"|"
        r"(median|mode|kthvalue|topk|sort|max|min|_indices|cummax|cummin|frexp|aminmax)\((?s:.*)\] = ",
        "torchlite One of the differentiated Tensors does not require grad",
        0,
        "a tensor of integers has no history, whatever was written to it",
    ),
    Meant(
        "raises RuntimeError, nothing",
        r"(linear|conv\dd|pool1d\w*)\((?s:.*)detach_",
        "PyTorch Can't detach views in-place",
        0,
        "PyTorch's result is a view of a result in more dims; here it is a tensor of its own",
    ),
    Meant(
        "raises (nothing|RuntimeError), (nothing|RuntimeError)|type|graph",
        r"\[[^]]*\] = t\d+|fill_\(",
        r"PyTorch (nothing, torchlite .*does not require grad|Output \d+ of \w+ is a view and its base)",
        0,
        "in PyTorch, integers require a gradient once a number that requires one is written to them",
    ),
    Meant(
        "raises RuntimeError, nothing",
        r"\w+\[[^]]*\] [-+*/]= ",
        r"PyTorch a leaf Variable that requires grad",
        0,
        "PyTorch takes a view for a leaf until its history is asked for",
    ),
    Meant(
        "graph",
        r"conj\(\)(?s:.*)detach_\(\)",
        "PyTorch requires_grad=False",
        0,
        "PyTorch's history of a view of conjugates whose base was cut off and written to is an internal error",
    ),
    Meant("stride", r"\bt_\(\)(?s:.*)\.real\b", "", 0, "PyTorch's real part of a real tensor is that tensor", order=1),
    Meant(
        "type",
        r"avg_pool1d|max_pool1d",
        r"PyTorch None",
        0,
        "PyTorch's result is a view of the pool in two dimensions, so a write to a view of it is no use of it",
    ),
    Meant(
        "stride",
        r"complex\(|broadcast_tensors|expand",
        "",
        0,
        "PyTorch's CPU converts an expanded operand first, its GPU and this one do not",
        device="webgpu",
    ),
    Meant(
        r"raises \w+, TypeError",
        "",
        "torchlite Cannot convert a WebGPU Tensor to float64",
        0,
        "a GPU has no float64: that fails first",
    ),
    Meant(
        "raises RuntimeError, nothing",
        "",
        "PyTorch Autograd not support dtype",
        0,
        "integers with a history (above), which PyTorch's next op does not expect",
    ),
    Meant(
        "graph",
        "",
        r"\(integers\)",
        0,
        "integers have no history here; in PyTorch they get that of a number that is written to them",
    ),
    Meant(
        "raises nothing, RuntimeError",
        r"dtype=\"(u?int\d+|bool)\"(?s:.*)\] = t\d",
        "torchlite cannot register a hook on a tensor that doesn't require gradient",
        0,
        "integers without a history (above), and a hook on what was computed from them",
    ),
    Meant(
        "raises RuntimeError, nothing",
        "",
        r"PyTorch Expected isFloatingType\(grad\.scalar_type\(\)\)",
        0,
        "PyTorch's gradient of a real number that was written into complex ones is complex, which it then refuses",
    ),
    Meant(
        "raises (nothing, LinAlgError|LinAlgError, nothing)",
        r"inv\(|solve\(|matrix_power\(.*, -\d",
        "singular|not invertible",
        0,
        "the last pivot of a singular matrix is 0, or the rounding error of a difference",
    ),
    Meant(
        "(grad's )?stride",
        "matrix_exp",
        "",
        0,
        "PyTorch's gradient is a corner of a matrix of twice the size",
    ),
    Meant(
        "raises RuntimeError, nothing",
        "",
        r"PyTorch \w+ does not support automatic differentiation for outputs with complex dtype",
        0,
        "its result has a gradient here",
    ),
    Meant(
        "graph",
        r"native_group_norm|native_layer_norm|native_batch_norm",
        "",
        0,
        "a norm's saved statistics have no gradient here",
    ),
    Meant(
        "raises nothing, RuntimeError",
        r"native_(group|layer|batch)_norm",
        "torchlite (cannot register a hook on a tensor that doesn't require gradient|"
        "can't retain_grad on Tensor that has requires_grad=False|"
        "One of the differentiated Tensors does not require grad|element 0 of tensors does not require grad)",
        0,
        "such statistics get a hook, or their gradient is asked for: it is silently missing in PyTorch",
    ),
    Meant(
        "raises nothing, NotImplementedError",
        r"complex\(",
        "torchlite view_as_complex: complex numbers of half precision",
        0,
        "there is no complex32 here",
    ),
    Meant(
        "stride",
        r"abs|atan2|avg_pool|batch_norm|copysign|div|/|elu|inv|layer_norm|logcumsumexp|square|\*\*|pow",
        "",
        0,
        "the layout of a second gradient follows from the formula of the first one, which differs here",
        order=2,
    ),
    Meant(
        "graph",
        "segment_reduce",
        "",
        0,
        "PyTorch's gradient of segment_reduce has no derivative, and says so in backward; here it has one",
        order=1,
    ),
    Meant(
        "graph",
        r'dtype="u?int',
        "",
        0,
        "PyTorch records a float that is written to integers, and fails with an internal assert in backward",
    ),
    Meant(
        "value",
        r"(\*\*|pow|log|sqrt|asin|acos|/|fmod|remainder)(?s:.*)hash_tensor\(",
        "",
        0,
        "the hash of a NaN is that of its bits; the sign of a NaN that an op makes is the processor's choice",
    ),
    Meant(
        "type",
        r"F\.linear\((?s:.*)broadcast_tensors\((?s:.*)allow_unused=True",
        "PyTorch None",
        0,
        "linear's result is a view in PyTorch (above), and a view of a view that was written to is made anew",
    ),
    Meant(
        "grad|value",
        r"complex(?s:.*)scatter_reduce_\(.*'prod'",
        "",
        0,
        "PyTorch refuses the gradient of a complex scatter_reduce, but not in place, where a conjugate is missing",
        order=1,
    ),
    Meant(
        "raises RuntimeError, nothing",
        r"gelu_backward\(",
        "PyTorch could not create a primitive",
        0,
        "oneDNN has no gelu for operands of two shapes",
    ),
    Meant(
        "grad's graph|value|graph",
        r"native_group_norm\((?s:.*)create_graph=True",
        "",
        0,
        "PyTorch's second formula of native_group_norm drops the gradients of mean and rstd; here they are added",
        order=1,
    ),
    Meant(
        "raises RuntimeError, nothing",
        r"cum(max|min)\((?s:.*)detach_\(\)",
        "PyTorch Trying to use a saved tensor that has been detached in-place",
        0,
        "PyTorch saves the input of cummax and cummin for its shape; here the shape is saved, not the tensor",
    ),
    Meant(
        "shape|raises nothing, RuntimeError",
        r"conj\(\)(?s:.*)autograd\.grad\((?s:.*)(squeeze|unsqueeze|transpose|t)_\(",
        "",
        0,
        "a gradient that was handed on and then changed in shape: PyTorch's is the given tensor's own object",
    ),
    Meant(
        "(grad's )?stride, unused",
        "",
        "",
        0,
        "the stride of a dimension of size 1, or of an empty tensor, reaches no element",
    ),
]


def order(d: Any, lines: list[str]) -> int:
    """How many gradients, one of the other, lead to the variable that differs."""
    depth: dict[str, int] = {}  # of each variable so far
    for line in lines[: d.line + 1] if d.line >= 0 else lines:
        names = re.findall(r"\b[gh]?\w*t\d+\b", line)
        most = max((depth.get(n, 0) for n in names), default=0)
        if "autograd.grad(" in line:
            found = re.findall(r"\b\w+\b", line.partition("=")[0])
            depth.update(dict.fromkeys(found, most + 1))
        elif ".backward(" in line:
            depth.update({n + ".grad": most + 1 for n in [*depth, *names]})
        else:  # variables that are written and those that are read are treated alike
            depth.update(dict.fromkeys(names, most))
    return depth.get(d.name, 0)


def justified(d: Any, lines: list[str], device: str, meant: list[Meant] = MEANT) -> bool:
    text = "\n".join(lines)
    return any(
        re.fullmatch(m.kind, d.kind)
        and re.search(m.program.replace("NAME", re.escape(d.name.removesuffix(".grad")) or "NAME"), text)
        and re.search(m.words, str(d))
        and (d.size <= m.most or not m.most)
        and (not m.order or order(d, lines) >= m.order)
        and m.device in ("", device)
        for m in meant
    )


# lines that the fixed programs of the tests leave out as long as a finding is open; `make fuzz` has them
NOT_YET: dict[str, set[str]] = {"cpu": set(), "webgpu": set()}
