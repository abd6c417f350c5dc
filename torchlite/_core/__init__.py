"""The heart of the library: tensors, dtypes, devices, dispatch, indexing,
printing and the loading of the native core."""
