"""Why torchlite does not have a name of PyTorch, and what to do instead."""

from __future__ import annotations

# by the beginning of the path; the longest that fits counts
_REASONS = {
    "": "torchlite does not have it",
    "torch.ao": "torchlite has no quantized tensors; use float16 or bfloat16 weights to save memory",
    "torch.quantization": "torchlite has no quantized tensors; use float16 or bfloat16 weights to save memory",
    "torch.nn.quantized": "torchlite has no quantized tensors; use float16 or bfloat16 weights to save memory",
    "torch.distributed": "torchlite runs in one process, a world of one (torch.distributed.init_process_group)",
    "torch.multiprocessing": "torchlite has one process; torch.multiprocessing.spawn runs functions in it",
    "torch.fx": "torchlite does not have this part of torch.fx",
    "torch.export": "torchlite does not export programs; save the state_dict and the Python code",
    "torch.onnx": "torchlite does not write ONNX; load the state_dict in PyTorch and export there",
    "torch.jit": "torchlite does not compile TorchScript; call the model itself",
    "torch.package": "torchlite does not read packages; save the state_dict and the Python code",
    "torch._dynamo": "torchlite runs everything eagerly; torch.compile runs the model as it is",
    "torch.compiler": "torchlite runs everything eagerly; torch.compile runs the model as it is",
    "torch.sparse": "torchlite does not have this part of torch.sparse; x.to_dense() makes a dense tensor",
    "torch.cuda": "there is no CUDA; the GPU of a page is device 'webgpu' (torch.webgpu.use_as_cuda())",
    "torch.backends.cuda": "there is no CUDA; the GPU of a page is device 'webgpu'",
    "torch.utils.data": "torchlite has no data pipes; use Dataset, IterableDataset, samplers and DataLoader",
    "torch.utils.benchmark": "torchlite does not have it; take times with timeit or torch.profiler",
    "torch.monitor": "torchlite counts no events; use torch.profiler or logging",
    "torch.mps": "there is no MPS; the GPU of a page is device 'webgpu'",
    "torch.xpu": "there is no XPU; the GPU of a page is device 'webgpu'",
    "torch.mtia": "there is no MTIA; the GPU of a page is device 'webgpu'",
}
_QUANTIZED = ("torch.Tensor.q_", "torch.Tensor.qscheme", "torch.Tensor.int_repr", "torch.q_", "torch.int_repr")


def reason(path: str) -> str:
    """For a name with its module, "torch.jit.script"."""
    if "quant" in path or path.startswith(_QUANTIZED):
        return _REASONS["torch.quantization"]
    return _REASONS[max((r for r in _REASONS if path == r or path.startswith(r + ".") or not r), key=len)]
