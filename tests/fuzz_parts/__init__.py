"""A differential fuzzer of the library's parts: modules, optimizers, files and so on.

tests/fuzz runs random programs of ops; here a case is one random use of one part (`parts`), run in PyTorch and in
torchlite within one process, and everything it returns, raises and warns is compared (`compare`). What differs on
purpose is in `known`, with reasons. `python tests/fuzz_parts --help` says how to run it."""
