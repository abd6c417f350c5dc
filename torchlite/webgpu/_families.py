"""The planners by family; importing them registers them."""
