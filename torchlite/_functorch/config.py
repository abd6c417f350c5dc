"""torch._functorch.config: settings that packages read and set. Nothing here depends on them."""

check_custom_op_aliasing = True
functionalize_rng_ops = False
fake_tensor_allow_unsafe_data_ptr_access = True
