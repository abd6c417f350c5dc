from ..library import CustomOpDef, custom_op

__all__ = ["CustomOpDef", "custom_op"]
