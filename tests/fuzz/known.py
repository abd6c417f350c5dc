"""The differences from PyTorch that are meant, each with its reason. Everything else is a finding."""

from __future__ import annotations

import re
from typing import Any, NamedTuple


class Meant(NamedTuple):
    kind: str  # of the difference; these are regular expressions
    program: str  # found in the program; NAME is the variable that differs
    words: str  # found in what the libraries say
    most: float  # the largest distance of numbers; 0: any
    reason: str
    order: int = 0  # the variable is at least such a derivative
    device: str = ""  # only there


MEANT = [
    Meant(
        "value",
        r"(std|var)_mean\(",
        r"PyTorch \[-?nan.*torchlite \[-?inf",
        0,
        "PyTorch's mean beside a deviation is a running mean, which is NaN after an infinity",
    ),
    Meant("dtype", r"mish_backward\(", "", 0, "PyTorch's result has the input's dtype, not the promoted one"),
    Meant(
        "raises RuntimeError, nothing",
        r"mish_backward\(",
        "PyTorch .*same dtype",
        0,
        "the same, where a later line wants one dtype",
    ),
    Meant(
        "value|grad",
        r"fft",
        r"PyTorch \[.*nan|torchlite \[.*nan",
        0,
        "which parts of an FFT a NaN reaches depends on how the sums are factored",
    ),
    Meant(
        "value|grad",
        r"(logical_\w+|eq_|ne_|lt_|le_|gt_|ge_|sign_|fill_|zero_)\((?s:.*)(svdvals|svd|eigvalsh|eigh)\(",
        "",
        0,
        "equal singular values: each basis of their space gives a gradient of its own",
        order=1,
    ),
    Meant(
        "value.*",
        r"fft(?s:.*)(any|all|logical_\w+|eq_?|ne_?|count_nonzero|nonzero|bool)\(",
        r"PyTorch \[(True|False|\d)",
        0,
        "whether a sum that cancels is exactly 0 depends on how the FFT is factored",
    ),
    Meant(
        "value",
        r"_backward\((?s:.*)\.(eq|ne)_\(",
        r"PyTorch \[[01]\.0(, [01]\.0)*\] at",
        0,
        "whether a slope near 1 is rounded to 1",
    ),
    Meant(
        "value.*|grad",
        r"logit_backward\(",
        r"PyTorch \[0\.0(, 0\.0)*\] at .*torchlite \[nan",
        0,
        "PyTorch's gradient at NaN is 0 in its loop over vectors, and NaN in the one over what is left",
    ),
    Meant(
        "value|grad",
        r"no_grad\(\): torch\.kron\(.*out=",
        "",
        0,
        "an out= of another shape: PyTorch resizes the memory that a graph has saved, and counts no version",
        order=1,
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
        r"conj\((?s:.*)masked_fill_\((?s:.*)autograd\.grad\(",
        "PyTorch requires_grad=True, is_leaf=True.*torchlite requires_grad=False",
        0,
        "a gradient that is the given one, which PyTorch lets require a gradient of its own",
    ),
    Meant("stride", r"torch\.abs\(t\d+, out=", "", 0, "PyTorch's abs of complex numbers leaves an out= contiguous"),
    Meant(
        "value|grad",
        r"_pool1d\w*\((?s:.*)autograd\.grad\((?s:.*)materialize_grads=True",
        r"PyTorch \[0\.0(, 0\.0)*\] at",
        0,
        "PyTorch's pools over one dim are views of those over two: once written to, they are other tensors",
        order=1,
    ),
    Meant(
        "value|grad",
        r"linalg\.lu\w*\(",
        r"PyTorch \[[01]\.0(, [01]\.0)*\] at \[\d+(, \d+)*\], torchlite \[[01]\.0",
        0,
        "which of two pivots of equal size is taken",
    ),
    Meant(
        "value",
        r"diagonal\((?s:.*)view_as\((?s:.*)\[\[[-\d, ]+\]\] = t\d",
        "",
        0,
        "an index that names an element twice, from memory that is being written",
    ),
    Meant(
        "stride",
        r"group_norm\((?s:.*)create_graph",
        "",
        0,
        "the gradient of an expanded gradient: PyTorch's formula then leaves channels_last",
        order=1,
    ),
    Meant(
        "value|grad",
        r"(sqrt|log\w*|asin|acos|acosh|atanh|pow|erfinv|logit|xlogy|true_divide|div)_?\((?s:.*)_polynomial_\w+\(",
        "",
        0,
        "of NaN, PyTorch's polynomials are what lay in memory; what follows is computed of it",
    ),
    Meant(
        "value",
        r"kaiser_window(?s:.*)out=",
        "",
        3e-7,
        "the last digit of a float32, in an out= of float64",
    ),
    Meant("value|grad", r"float16(?s:.*)matrix_exp", r"PyTorch \[.*(nan|inf)", 0, "PyTorch's overflows in 16 bits"),
    Meant(
        "value|grad",
        r"logcumsumexp",
        r"torchlite \[-?nan",
        0,
        "PyTorch takes the logarithms of a gradient's positive and negative parts: NaN is neither, and gets lost",
        order=1,
    ),
    Meant(
        "type",
        r"linalg\.lu\((?s:.*)requires_grad_\(\)",
        "torchlite None",
        0,
        "a permutation that the op kept has no gradient here, also when it is told to require one later",
    ),
    Meant(
        "raises nothing, RuntimeError",
        r"F\.linear(?s:.*)exp_\((?s:.*)\.real\.(?s:.*)\[0:\] ",
        "torchlite one of the variables needed for gradient computation has been modified",
        0,
        "PyTorch misses a write to the gradient of a part of complex numbers, through a slice only",
    ),
    Meant(
        "value|grad",
        r"matrix_exp",
        "",
        0,
        "PyTorch's third derivative loses all digits where exponentials are large: finite differences show it",
        order=2,
    ),
    Meant(
        "graph",
        r"(_with_indices|median|mode|sort|kthvalue|topk|max|min|cummax|cummin)\((?s:.*)\] = t\d",
        "PyTorch requires_grad=True.*torchlite requires_grad=False",
        0,
        "what indices take of a float's history when it is written to them",
    ),
    Meant(
        "raises RuntimeError, nothing",
        r"(chunk|split|unbind)\w*\((?s:.*)out=",
        "PyTorch Output \\d of \\w+ is a view and its base or another view of its base has been modified inplace",
        0,
        "PyTorch keeps a view for its shape only, and asks for its history all the same",
    ),
    Meant(
        "value|grad",
        r"fft(?s:.*)(acosh|acos|asin|asinh|atan|atanh|arc\w+|sqrt|log\w*|angle|pow|\*\*)",
        r"j\)?[,\]]",
        0,
        "an imaginary part of 0 has another sign where sums of an FFT are in another order: a branch cut",
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
        "value of integers",
        r"complex(?s:.*)/=(?s:.*)count_nonzero",
        "",
        0,
        "a complex number by itself is not exactly 1 in PyTorch, and its logarithm not 0",
    ),
    Meant(
        "value.*|grad",
        r"cross\((?s:.*)(div|/=| / |logical_|sign|sgn|reciprocal|log|any|all|eq_|ne_|bool|count_nonzero)",
        "",
        0,
        "the cross product of a vector with itself is not exactly 0 in PyTorch, which rounds once (fma)",
    ),
    Meant(
        "value|grad",
        r"(elu|selu|celu|hardswish)(_|_backward)?\(",
        r"PyTorch \[-?nan(, -?nan)*\] at",
        0,
        "PyTorch's gradient at NaN is NaN in its loop over vectors of doubles, that of the positive side in the rest",
    ),
    Meant(
        "value",
        r"(conj|adjoint|mH|H|view_as_real)\b(?s:.*)\.(swapaxes_|swapdims_|transpose_|t_)\((?s:.*)(\] = |_\()",
        "",
        0,
        "PyTorch forgets the transposition in place of a view of complex numbers when it is written to",
        order=1,
    ),
    Meant(
        "value|grad",
        r"celu(_\(.*0\.7|\(.*0\.7.*inplace)",
        "",
        1e-6,
        "PyTorch's derivative of celu in place has alpha as a float32",
    ),
    Meant(
        "raises NotImplementedError, nothing", "", r"PyTorch \"[\w<>]+\" not implemented for 'Complex", 0, "it is here"
    ),
    Meant(
        "graph",
        "convolution_backward",
        "PyTorch requires_grad=False.*torchlite requires_grad=True",
        0,
        "what is linear in the weights has a graph here, whose gradient is 0",
    ),
    Meant(
        "value|grad",
        r"sgn|l1_loss",
        r"PyTorch \[-?0\.0(, -?0\.0)*\] at .*torchlite \[-?nan",
        0,
        "PyTorch's gradient of sgn is zeros without memory, which stay 0 times NaN",
        order=1,
    ),
    Meant(
        "value",
        r"\bNAME(\[.*\[.*\]\] = |\.index_put_\(.*accumulate=True)"
        r"|\b(t\d+)\.index_put_\(.*accumulate=True(?s:.*)\bNAME = \2$",
        "",
        0,
        "an index out of range: PyTorch has written what came before it",
    ),
    Meant("value|grad", r"gamma", "", 1e-7, "PyTorch's trigamma has ten digits"),
    Meant("value|grad", r"bessel_[jy][01]", "", 1e-6, "PyTorch's Bessel functions have nine digits"),
    Meant("value|grad", r"bessel_[jy][01]", r"PyTorch \[-?nan", 0, "PyTorch's Bessel functions are NaN at infinity"),
    Meant(
        "value|grad",
        r"hardtanh|relu6",
        r"PyTorch \[(-?0\.0|\(?-?0\+0j\)?|-?0j)(, (-?0\.0|\(?-?0\+0j\)?|-?0j))*\] at",
        0,
        "PyTorch's gradient at NaN is 0 in its loop over vectors, and that of the result in the one over what is left",
        order=1,
    ),
    Meant(
        "value|grad",
        r"(hard|soft)shrink",
        r"PyTorch \[-?0\.0(, -?0\.0)*\] at",
        0,
        "PyTorch's gradient at NaN is 0 in its loop over vectors of doubles, and that of the result in the rest",
        order=1,
    ),
    Meant(
        "value|grad",
        r"matrix_exp",
        "",
        1e-3,
        "a large gradient costs PyTorch digits: it goes through the exponential of a block matrix as it is",
        order=1,
    ),
    Meant(
        "graph",
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
        "both refuse a complex tensor whose elements share memory, which check comes first differs",
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
        "value|grad",
        r"bilinear\(",
        r"PyTorch \[-?nan(, -?nan)*\] at .*torchlite \[-?inf(, -?inf)*\]",
        0,
        "of the two sums of a bilinear form another one comes first",
    ),
    Meant(
        "value|grad",
        r"\bmode\(",
        r"nan",
        0,
        "PyTorch sorts with a comparison that orders NaN nowhere: which run of equal elements it finds is open",
    ),
    Meant(
        "value|grad",
        r"unsafe_(chunk|split)",
        "",
        0,
        "PyTorch does not notice writes to parts that are no views for it, and uses overwritten numbers",
        order=1,
    ),
    Meant(
        "raises RuntimeError, nothing",
        "",
        r"PyTorch ZeroDivisionError",
        0,
        "an integer divisor that only the GPU sees is not looked at, as on other GPUs",
        device="webgpu",
    ),
    Meant(
        "value of integers",
        r"(?m)^.*\bNAME\b.*= .*(kthvalue|median|mode|topk|sort|(min|max)\()",
        "",
        0,
        "which of equal elements is named, PyTorch leaves open",
    ),
    Meant(
        "raises RuntimeError, nothing",
        "",
        "PyTorch one of the variables needed for gradient computation has been modified by an inplace",
        0,
        "where nothing that was overwritten is needed here, the gradient is right and given",
    ),
    Meant(
        r"raises (RuntimeError|NotImplementedError), \w+",
        "",
        r"PyTorch (derivative for aten::\w+|the derivative for '.*') is not implemented",
        0,
        "it has one here, or what was overwritten is noticed first",
    ),
    Meant(
        r"raises \w+Error, \w+Error",
        "",
        r"not implemented for 'Complex|Please use torch.sgn instead",
        0,
        "both refuse complex numbers, which check comes first differs",
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
        r"torchlite one of the variables needed for gradient computation has been modified by an inplace operation: "
        r"\[torch\.Complex",
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
        "both refuse: which is looked at first differs",
    ),
    Meant(
        "raises nothing, RuntimeError",
        r"conv\w*\(",
        r"torchlite Input type \(.*\) and bias type \(.*\) should be the same",
        0,
        "PyTorch looks at the bias in some of its convolutions only",
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
        "the same, of parts of complex numbers: what PyTorch has after that error",
    ),
    Meant(
        "raises RuntimeError, nothing",
        r"conj\((?s:.*)\.(un)?squeeze_\(|conj\((?s:.*)\.(t|transpose|swapaxes|swapdims)_\(",
        "PyTorch Function .* returned an invalid gradient at index",
        0,
        "the same, of a conjugate view",
    ),
    Meant(
        "raises RuntimeError, nothing",
        "binary_cross_entropy_with_logits",
        "PyTorch The function .* is not differentiable with respect to argument 'weight'",
        0,
        "it has a gradient here",
    ),
    Meant(
        "raises nothing, RuntimeError",
        r"rms_norm\(|scaled_dot_product_attention\(",
        "torchlite one of the variables needed for gradient computation has been modified by an inplace operation",
        0,
        "what is saved here is the input of the norm, or the attention's result: to change it is an error",
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
        "value|grad",
        r"(linear|conv\dd|pool1d)\((?s:.*)register_hook(?s:.*)((?<!requires_grad)_\(|inplace=True|\] = |[-+*/]= )",
        "",
        0,
        "the result is a view in PyTorch, which loses its hook when it is changed in place afterwards",
    ),
    Meant(
        "raises RuntimeError, nothing",
        r"(linear|conv\dd|pool1d\w*)\((?s:.*)detach_",
        "PyTorch Can't detach views in-place",
        0,
        "the same views",
    ),
    Meant(
        "value|grad",
        "",
        r"PyTorch \[(-?nan|-?inf)(, (-?nan|-?inf))*\] at .*torchlite \[(-?nan|-?inf)(, (-?nan|-?inf))*\]",
        0,
        "whether a gradient that overflowed is infinite or NaN depends on what is multiplied first",
        order=1,
    ),
    Meant(
        "value",
        r"(batch|instance)_norm\(",
        r"PyTorch \[-?nan(, -?nan)*\] at .*torchlite \[-?inf(, -?inf)*\]",
        0,
        "PyTorch multiplies an infinite weight by the mean first",
    ),
    Meant(
        "value|grad",
        r"scaled_dot_product_attention\(",
        r"PyTorch \[0\.0(, 0\.0)*\] at .*torchlite \[nan",
        0,
        "PyTorch's attention is 0 where the scores are NaN",
    ),
    Meant(
        "value|grad",
        r"solve_triangular\(",
        r"PyTorch \[\(?-?(nan|inf)",
        0,
        "what is divided by a 0 of the diagonal first",
    ),
    Meant("value.*|grad", r"logcumsumexp", r"PyTorch \[[^]]*nan", 0, "PyTorch's second gradient is NaN or wrong"),
    Meant("value|grad", r"logcumsumexp", "", 0, "PyTorch's second gradient is not that of finite differences", order=2),
    Meant("value|grad", r"airy_ai", "", 1e-4, "PyTorch's Airy function has 6 digits beyond -2.09"),
    Meant(
        "raises (nothing|RuntimeError), (nothing|RuntimeError)|type|graph",
        r"\[[^]]*\] = t\d+|fill_\(",
        r"PyTorch (nothing, torchlite .*does not require grad|Output \d+ of \w+ is a view and its base)",
        0,
        "a number that requires a gradient, written to whole numbers, makes these require one in PyTorch",
    ),
    Meant(
        "raises RuntimeError, nothing",
        r"\w+\[[^]]*\] [-+*/]= ",
        r"PyTorch a leaf Variable that requires grad",
        0,
        "PyTorch takes a view for a leaf until its history is asked for",
    ),
    Meant(
        "value",
        r"conj\(\)(?s:.*)\.(un)?squeeze_\((?s:.*)_\(",
        "",
        0,
        "PyTorch forgets the new dim of a view of conjugates when it is written to",
        order=1,
    ),
    Meant(
        "graph",
        r"conj\(\)(?s:.*)detach_\(\)",
        "PyTorch requires_grad=False",
        0,
        "PyTorch's history of a view of conjugates whose base was cut off and written to is an internal error",
    ),
    Meant(
        "value.*",
        r"(batch|instance|group|layer)_norm(?s:.*)(pow\(|\.all\(|sgn|sign|\*\*|==|!=|[<>])",
        "",
        0,
        "the norm of equal elements, which is 0 here and a few units of rounding in PyTorch, is raised or compared",
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
        "value|grad", r"igammac?_?\(", r"PyTorch \[nan.*torchlite \[[01]\.", 0, "PyTorch's igamma is NaN at infinity"
    ),
    Meant("value|grad", r"matrix_exp", "", 1e-8, "PyTorch's polynomials have a few digits less for large matrices"),
    Meant("value|grad", r"fft\.fftfreq\(.*out=", "", 0, "PyTorch fills rows of an out= of several dims"),
    Meant("value|grad", r"airy_ai", "", 2e-6, "PyTorch's airy_ai has six digits below -2"),
    Meant("value|grad", r"airy_ai", r"PyTorch \[-?nan", 0, "PyTorch's airy_ai is NaN at infinity"),
    Meant(
        "value.*|grad",
        r"(chebyshev_polynomial_[uvw]|legendre_polynomial_p|laguerre_polynomial_l|hermite_polynomial_he?)\(",
        r"torchlite \[\(?-?nan",
        0,
        "of NaN, PyTorch's polynomials are what lay in memory",
    ),
    Meant(
        "value.*|grad",
        r"(expand|expand_as|broadcast_to|broadcast_tensors)\((?s:.*)median\(",
        "",
        0,
        "PyTorch's median reads memory beyond a tensor with a stride of 0",
    ),
    Meant(
        "value.*|grad",
        r"(expand|expand_as|broadcast_to|broadcast_tensors|transpose|permute)\((?s:.*)group_norm\(",
        "",
        0,
        "PyTorch's group_norm reads a weight that is not contiguous as if it were, beyond its end too",
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
        "the same history, which PyTorch's next op on the integers does not expect",
    ),
    Meant(
        "graph",
        "",
        r"\(integers\)",
        0,
        "what a tensor of integers takes of a float's history when one number is written to it",
    ),
    Meant(
        "raises nothing, RuntimeError",
        r"dtype=\"(u?int\d+|bool)\"(?s:.*)\] = t\d",
        "torchlite cannot register a hook on a tensor that doesn't require gradient",
        0,
        "the same, where what was computed of those integers gets a hook",
    ),
    Meant(
        "value|grad",
        r"logit\w*\((?s:.*)create_graph",
        r"torchlite \[nan",
        0,
        "with create_graph PyTorch's gradient of logit at NaN is 0, and NaN without",
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
        "the last pivot of a singular matrix rounds to 0 or to what is left of a difference",
    ),
    Meant(
        "(grad's )?stride",
        "matrix_exp",
        "",
        0,
        "PyTorch's gradient is a corner of a matrix of twice the size",
    ),
    Meant(
        "value|grad",
        "as_strided_scatter",
        "",
        0,
        "PyTorch 2.13 gives self the gradient of what was replaced, instead of the rest",
    ),
    Meant(
        "raises RuntimeError, nothing",
        "",
        r"PyTorch \w+ does not support automatic differentiation for outputs with complex dtype",
        0,
        "it has a gradient here",
    ),
    Meant(
        "value|grad",
        r"(complex|fft)(?s:.*)silu(\(\w+, inplace=True|_\()",
        "",
        0,
        "PyTorch's gradient of silu in place lacks a conjugation; otherwise it refuses complex numbers",
    ),
    Meant(
        "graph",
        r"native_group_norm|native_layer_norm|native_batch_norm",
        "",
        0,
        "the saved statistics of a norm have no gradient here",
    ),
    Meant(
        "raises nothing, RuntimeError",
        r"native_(group|layer|batch)_norm",
        "torchlite (cannot register a hook on a tensor that doesn't require gradient|"
        "can't retain_grad on Tensor that has requires_grad=False|"
        "One of the differentiated Tensors does not require grad|element 0 of tensors does not require grad)",
        0,
        "the same, where such statistics get a hook, or their gradient is asked for: PyTorch's is silently missing",
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
        "a second gradient lies as PyTorch's formula of the first one leaves it; the formula here is another",
        order=2,
    ),
    Meant(
        "value|grad",
        r"(batch|layer|group|instance)_norm",
        "",
        0,
        "PyTorch's third derivatives of norms take the statistics for constants",
        order=3,
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
        "PyTorch records what a float wrote into whole numbers, and stops with an internal assert in backward",
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
        else:  # what is written to is not told from what is read
            depth.update(dict.fromkeys(names, most))
    return depth.get(d.name, 0)


def justified(d: Any, lines: list[str], device: str) -> bool:
    text = "\n".join(lines)
    return any(
        re.fullmatch(m.kind, d.kind)
        and re.search(m.program.replace("NAME", re.escape(d.name.removesuffix(".grad")) or "NAME"), text)
        and re.search(m.words, str(d))
        and (d.size <= m.most or not m.most)
        and (not m.order or order(d, lines) >= m.order)
        and m.device in ("", device)
        for m in MEANT
    )


# what the fixed programs of the tests leave out until it is done: `make fuzz` shows it
NOT_YET: dict[str, set[str]] = {"cpu": set(), "webgpu": set()}
