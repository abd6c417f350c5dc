"""The ops as PyTorch's native functions name and order them: torch.f, then what torch._C._nn holds."""

from torchlite.ops._declare import namespace

aten = {**namespace(""), **namespace("nn"), **namespace("_nn")}
