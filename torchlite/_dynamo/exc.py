"""Errors of a compiler that is not here; programs catch them."""


class TorchDynamoException(RuntimeError):
    pass


class InternalTorchDynamoError(TorchDynamoException):
    pass


class ResetRequired(TorchDynamoException):
    pass


class BackendCompilerFailed(TorchDynamoException):
    pass


class Unsupported(TorchDynamoException):
    pass


class UserError(TorchDynamoException):
    pass


class RecompileError(TorchDynamoException):
    pass


class InvalidBackend(TorchDynamoException):
    def __init__(self, name: str) -> None:
        super().__init__(f"Invalid backend: {name!r}, see `torch._dynamo.list_backends()` for available backends.")
