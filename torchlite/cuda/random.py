"""Random numbers of CUDA devices: there are none, so seeds are ignored and states refused, as in PyTorch without CUDA.
Where "cuda" means the page's GPU, that draws from the CPU's generator, and all of this is about it."""

from .. import random as _random
from .._core import device as _device

__all__ = [
    "get_rng_state",
    "get_rng_state_all",
    "set_rng_state",
    "set_rng_state_all",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
    "initial_seed",
]


def _refuse():
    if not _device.cuda_is_webgpu():
        raise AssertionError("Torch not compiled with CUDA enabled")


def get_rng_state(device="cuda"):
    """The generator's state, as uint8."""
    _refuse()
    return _random.get_rng_state()


def get_rng_state_all():
    """The states of all devices: a list."""
    return [_random.get_rng_state()] if _device.cuda_is_webgpu() else []


def set_rng_state(new_state, device="cuda"):
    """Sets the generator's state; ignored without a device."""
    if _device.cuda_is_webgpu():
        _random.set_rng_state(new_state)


def set_rng_state_all(new_states):
    """Sets the states of all devices."""
    for state in new_states:
        set_rng_state(state)


def manual_seed(seed):
    """Seeds the generator; ignored without a device."""
    if _device.cuda_is_webgpu():
        _random.manual_seed(seed)


manual_seed_all = manual_seed


def seed():
    """Seeds the generator with a number that nobody chose; ignored without a device."""
    if _device.cuda_is_webgpu():
        _random.seed()


seed_all = seed


def initial_seed():
    """The seed of the generator."""
    _refuse()
    return _random.initial_seed()
