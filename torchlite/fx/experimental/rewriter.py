"""RewritingTracer: a Tracer that records `assert` statements and annotated assignments."""

from __future__ import annotations

import ast
import copy
import functools
import inspect
from types import FunctionType
from typing import Any

import torchlite as torch

from .._symbolic_trace import Tracer
from ..graph import Graph


class AST_Rewriter(ast.NodeTransformer):
    """rewrite(fn): the function with torch._assert(...) for assert, and x = annotate(value, T) for x: T = value."""

    def rewrite(self, fn: Any) -> Any:
        """The rewritten function, with the globals of the function."""
        lines = inspect.getsourcelines(fn)[0]
        indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
        source = "".join(line.removeprefix(indent) for line in lines)  # lines of strings may have less
        tree = ast.fix_missing_locations(self.visit(ast.parse(source)))
        names = dict(fn.__globals__)
        before = set(names)
        exec(compile(tree, "", "exec"), names)
        (name,) = set(names) - before or {fn.__name__}
        made: Any = names[name]
        made = getattr(made, "__func__", made)
        result: Any = FunctionType(made.__code__, fn.__globals__, made.__name__, made.__defaults__, made.__closure__)
        result = functools.update_wrapper(result, made)
        result.__kwdefaults__ = copy.copy(made.__kwdefaults__)
        return result

    def visit_Assert(self, node: ast.Assert) -> Any:
        call: Any = ast.parse("torch._assert()", mode="eval").body
        call.args = [node.test, node.msg if node.msg else ast.Constant(value="", kind=None)]
        return ast.copy_location(ast.Expr(value=call), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is None:  # it declares only
            return node
        call = ast.Call(func=ast.Name(id="annotate", ctx=ast.Load()), args=[node.value, node.annotation], keywords=[])
        return ast.Assign(targets=[node.target], value=call)


class RewritingTracer(Tracer):
    """A Tracer of rewritten functions."""

    def trace(self, root: Any, concrete_args: Any = None) -> Graph:
        return super().trace(_rewrite(root), concrete_args)


def _rewrite(fn: Any) -> Any:
    if not isinstance(fn, torch.nn.Module):
        return AST_Rewriter().rewrite(fn)

    def rewrite_module(m: Any) -> Any:
        class RewrittenModule(torch.nn.Module):
            def __init__(self, orig: Any) -> None:
                super().__init__()
                for key, value in orig.__dict__.items():
                    own = rewrite_module(value) if isinstance(value, torch.nn.Module) else value
                    self.__dict__[key] = copy.copy(own)

        RewrittenModule.forward = AST_Rewriter().rewrite(type(m).forward)
        return RewrittenModule(m)

    return rewrite_module(fn)
