"""Context managers that are decorators too."""

from __future__ import annotations

import functools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _wrap_generator(new_context, func):
    """The context is entered each time that the generator runs, and left while it waits."""

    @functools.wraps(func)
    def run(*args, **kwargs):
        made = func(*args, **kwargs)
        step, given = made.send, None
        while True:
            try:
                with new_context():
                    value = step(given)
            except StopIteration as done:
                return done.value
            try:
                given = yield value
                step = made.send
            except GeneratorExit:
                with new_context():
                    made.close()
                raise
            except BaseException as error:
                given, step = error, made.throw

    return run


def context_decorator(ctx: Any, func: Any) -> Any:
    """`func` inside a context: `ctx` is one, or a function that makes one for each call. A class is refused."""
    enters = callable(getattr(ctx, "__enter__", None))
    if enters and callable(ctx) and not isinstance(ctx, _DecoratorContextManager):
        raise AssertionError(
            f"Passed in {ctx} is both callable and also a valid context manager (has __enter__), making it ambiguous "
            "which interface to use. If you intended to pass a context manager factory, rewrite your call as "
            "context_decorator(lambda: ctx()); if you intended to pass a context manager directly, rewrite your call "
            "as context_decorator(lambda: ctx)"
        )
    if isinstance(ctx, _DecoratorContextManager):
        new_context = ctx.clone
    else:
        new_context = (lambda: ctx) if enters else ctx
    if isinstance(func, type):
        raise RuntimeError(
            "Cannot decorate classes; it is ambiguous whether or not only the constructor or all methods should have "
            "the context manager applied; additionally, decorating a class at definition-site will prevent use of the "
            "identifier as a conventional type. To specify which methods to decorate, decorate each of them "
            "individually."
        )
    import inspect

    if inspect.isgeneratorfunction(func):
        return _wrap_generator(new_context, func)

    @functools.wraps(func)
    def inside(*args, **kwargs):
        with new_context():
            return func(*args, **kwargs)

    return inside


class _DecoratorContextManager:
    """Base of context managers that decorate functions: each call enters a clone."""

    def __call__(self, orig_func):
        if isinstance(orig_func, type):
            import warnings

            warnings.warn(
                "Decorating classes is deprecated and will be disabled in future versions. You should only decorate "
                "functions or methods. To preserve the current behavior of class decoration, you can directly "
                "decorate the `__init__` method and nothing else.",
                FutureWarning,
                stacklevel=2,
            )
            func: Any = lambda *args, **kwargs: orig_func(*args, **kwargs)
        else:
            func = orig_func
        return context_decorator(self.clone, func)

    def __enter__(self):
        raise NotImplementedError

    def __exit__(self, exc_type, exc_value, traceback):
        raise NotImplementedError

    def clone(self):
        """A new context like this one; a subclass with arguments has its own."""
        return self.__class__()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """The same for classes that can be used without parentheses."""

    def __new__(cls, orig_func=None):
        made = super().__new__(cls)
        return made if orig_func is None else made(orig_func)
