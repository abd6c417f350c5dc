"""set_trace: a breakpoint in generated code."""

from typing import Any

__all__ = ["set_trace"]


def set_trace(gm: Any) -> Any:
    """The module, whose forward starts in pdb."""

    def insert_pdb(body: list[str]) -> list[str]:
        return ["import pdb; pdb.set_trace()\n", *body]

    with gm.graph.on_generate_code(
        make_transformer=lambda before: lambda code: insert_pdb(before(code) if before is not None else code)
    ):
        gm.recompile()
    return gm
