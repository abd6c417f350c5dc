"""Options of the chunked linear cross entropy."""

__all__ = ["LinearCrossEntropyOptions"]


class LinearCrossEntropyOptions:
    """How `linear_cross_entropy` may split its work; the result does not depend on it."""

    def __init__(
        self, allow_retain_graph=False, batch_chunk_size=None, chunking_method="auto", acc_policy="auto", acc_dtype=None
    ):
        self.allow_retain_graph = allow_retain_graph
        self.batch_chunk_size = batch_chunk_size
        self.chunking_method = chunking_method
        self.acc_policy = acc_policy
        self.acc_dtype = acc_dtype

    def _fields(self):
        return (self.allow_retain_graph, self.batch_chunk_size, self.chunking_method, self.acc_policy, self.acc_dtype)

    def __eq__(self, other):
        return type(other) is type(self) and self._fields() == other._fields()

    def __repr__(self):
        return (
            "LinearCrossEntropyOptions(allow_retain_graph={!r}, batch_chunk_size={!r}, chunking_method={!r}, "
            "acc_policy={!r}, acc_dtype={!r})"
        ).format(*self._fields())
