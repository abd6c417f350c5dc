"""torch._inductor.config: options of a compiler that is not here. They can be set and read; nothing looks at them."""

from types import SimpleNamespace

from .._dynamo.config import patch_of

cpp, triton, aot_inductor = SimpleNamespace(), SimpleNamespace(), SimpleNamespace()
patch = patch_of(globals())
