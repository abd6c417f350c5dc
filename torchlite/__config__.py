"""torch.__config__: how the core was built."""

from __future__ import annotations


def show() -> str:
    """A text for people; what PyTorch lists of compilers and libraries has no counterpart here."""
    from . import version

    return f"torchlite {version.__version__}: a core in C11, without BLAS and LAPACK libraries\n"


def parallel_info() -> str:
    """How many threads operations run on."""
    from . import _C

    return f"at::get_num_threads() : {_C.get_threads()}\nat::get_num_interop_threads() : 1\n"


def _cxx_flags() -> str:
    return ""
