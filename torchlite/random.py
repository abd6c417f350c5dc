"""torch.random: the generator and the functions around the default one."""

from __future__ import annotations

import contextlib
import os

from . import _C
from ._core import device as _device

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Self

    from ._types import Device, Tensor

    class _Base:
        """The generator of the core, native/src/random/rng.c."""

        def manual_seed(self, seed: int) -> Self: ...
        def initial_seed(self) -> int: ...
        def get_state(self) -> Tensor: ...
        def set_state(self, new_state: Tensor) -> None: ...
        def get_offset(self) -> int: ...
        def set_offset(self, offset: int) -> None: ...

else:
    _Base = _C.kernels["generator_type"]()


class Generator(_Base):
    """A source of random numbers: mt19937, with the same numbers as PyTorch's CPU generator for the same seed."""

    if TYPE_CHECKING:
        _device: Device

    def __new__(cls, device: Device | str | None = None) -> Self:
        import torchlite as torch

        where: Device = torch.device("cpu" if device is None else device)
        if where.type not in ("cpu", "webgpu"):
            raise RuntimeError(f"Device type {where.type} is not supported for torch.Generator() api.")
        self = super().__new__(cls)
        self._device = where
        return self

    @property
    def device(self) -> Device:
        """The device whose random functions take this generator."""
        return self._device

    def seed(self) -> int:
        """Seeds from the system's entropy and returns the seed."""
        value = int.from_bytes(os.urandom(8), "little")
        self.manual_seed(value)
        return value

    def clone_state(self) -> Generator:
        """A new generator in the same state."""
        g = Generator(self._device)
        g.set_state(self.get_state())
        return g

    def graphsafe_get_state(self) -> Self:
        """The generator itself."""
        return self

    def graphsafe_set_state(self, state: Generator) -> Self:
        """Takes over the state of another generator."""
        self.set_state(state.get_state())
        return self

    def __getstate__(self) -> dict[str, Tensor | str]:
        return {"state": self.get_state(), "device": str(self._device)}

    def __reduce__(self) -> tuple[type[Generator], tuple[Device], tuple[int, None, Tensor]]:
        return Generator, (self._device,), (self.initial_seed(), None, self.get_state())

    def __setstate__(self, state: tuple[int, None, Tensor]) -> None:
        seed, _, numbers = state
        self.manual_seed(seed)
        self.set_state(numbers)

    def __repr__(self) -> str:
        return f"<torch._C.Generator object at {id(self):#x}>"


Generator.__module__ = _C.__name__  # files find it there


def _rebuild(device: str, state: Tensor) -> Generator:
    """Of files that earlier versions wrote."""
    g = Generator(device)
    g.set_state(state)
    return g


def _make_default() -> Generator:
    g = _Base.__new__(Generator)
    g._device = _device.device("cpu")
    _C.kernels["set_default_generator"](g)
    g.seed()
    return g


default_generator = _make_default()


def manual_seed(seed: int) -> Generator:
    """Seeds the default generator of every device; returns the CPU one."""
    seed = int(seed)
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Seeds from the system's entropy; returns the seed."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed that was set last."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """State of the default generator, a uint8 tensor in PyTorch's layout."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Restores a state of the default generator."""
    default_generator.set_state(new_state)


def thread_safe_generator() -> None:
    """None outside of data loader workers: the default generator is used."""
    return None


@contextlib.contextmanager
def fork_rng(
    devices: Sequence[int] | None = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str = "webgpu",
) -> Iterator[None]:
    """Restores the random state on leaving the block."""
    if not enabled:
        yield
        return
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)
