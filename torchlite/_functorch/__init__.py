"""torch._functorch: vmap. `batched` has the tensors, `rules` what ops do with them, `vmap` the transform."""
