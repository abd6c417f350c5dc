"""A differential fuzzer of whole programs:
the same random lines run in PyTorch and in torchlite, and all is compared."""
