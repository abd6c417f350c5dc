"""torch.webgpu: the GPU of the page."""

from ._bridge import DeviceLostError  # noqa: F401
