"""Versions: PyTorch's, whose behaviour is followed, and torchlite's own."""

torchlite = "0.3.0"
__version__ = "2.13.0+torchlite." + torchlite
debug = False
cuda = hip = xpu = rocm = git_version = None


from ._core import absent as _absent

__getattr__ = _absent.of(__name__)
