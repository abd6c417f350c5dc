"""torch._inductor: a compiler that is not here. Its options can be set."""

from . import config as config
