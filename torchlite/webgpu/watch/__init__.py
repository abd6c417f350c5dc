"""What torch.webgpu.debug and torch.profiler see of the device."""
