"""Elements of tensors, and files."""

import io

import torch

from .arguments import ARRAYS, decoded
from .held import keep, object_of
from .values import answers, failed, result

_READ_AS = {torch.bfloat16: torch.float32, torch.float16: torch.float16, torch.bool: torch.uint8}


@answers
def read(target, halves):
    """Where a tensor's elements lie in memory: "d address bytes class handle", the handle to be released by the reader;
    "w" where the tensor is on a GPU, whose answer has to be awaited (fetch)."""
    tensor = object_of(target)
    return "w" if tensor.device.type == "webgpu" else _address(tensor, halves)


async def fetch(target, halves):
    """The same for a tensor on a GPU."""
    try:
        return _address(await object_of(target).detach().cpu_async(), halves)
    except BaseException as error:
        return failed(error)


def _address(tensor, halves):
    tensor = tensor.detach().resolve_conj().resolve_neg()
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
    dtype = _READ_AS.get(tensor.dtype, tensor.dtype)
    if dtype == torch.float16 and not halves:
        dtype = torch.float32
    if dtype == torch.uint8 and tensor.dtype == torch.bool:
        tensor = tensor.view(torch.uint8)
    elif dtype not in ARRAYS:
        dtype = torch.float32
    tensor = tensor.to(dtype).contiguous()
    return f"d{tensor.data_ptr()} {tensor.nbytes} {ARRAYS[dtype]} {keep(tensor)}"


@answers
def load_file(array, spec, *args):
    """What a file holds: safetensors, or what torch.save writes. Arguments: those of torch.load."""
    rest, named = decoded(spec, args)
    return result(_load(array, *rest, **(named or {})))


def _load(array, map_location="cpu", **named):
    data = array.to_bytes()
    size = int.from_bytes(data[:8], "little")
    if data[8:9] == b"{" and 8 + size <= len(data):
        from torch.utils import safetensors

        found = safetensors.load(data)
        return found if map_location == "cpu" else {name: t.to(map_location) for name, t in found.items()}
    return torch.load(io.BytesIO(data), map_location=map_location, **named)


@answers
def load_state(target, array, spec, *args):
    """model.load_state_dict() from the bytes of a file."""
    rest, named = decoded(spec, args)
    return result(object_of(target).load_state_dict(_load(array), *rest, **(named or {})))


@answers
def save_file(spec, *args):
    """Where what torch.save writes lies in memory, as `read` says it."""
    file = io.BytesIO()
    torch.save(decoded(spec, args)[0][0], file)
    return _address(torch.frombuffer(file.getbuffer(), dtype=torch.uint8), False)


@answers
def tensor(spec, *args):
    """torch.tensor() of a typed array, which has a dtype, or of rows of them."""
    (data,), named = decoded(spec, args)
    data = torch.stack(data) if isinstance(data, list) else data
    named = {"device": torch.get_default_device(), **(named or {})}
    return keep(torch.asarray(data, **named))
