"""Pictures in the Playground's output, from a script: `from playground import plot, scatter, bars, show, summary`.

    plot(losses)                                   one curve
    plot({"train": a, "test": b}, key="loss")      named curves; a later call with the same key redraws them
    scatter(x, y, color=labels)                    points; x may be (N, 2), then y is left out
    bars([3, 1, 2], labels=["a", "b", "c"])
    show(value)                                    as a cell shows its last expression
    summary(model, x)                              the module tree, with the shapes that model(x) makes
    read_image("cat.png")                          an image file as a uint8 tensor (3, height, width)

Tensors, lists and numpy arrays will do. Outside the page nothing is drawn, so a script also runs on a desktop.
"""

from .charts import bars, plot, scatter
from .display import show
from .picture import read_image
from .rich import summary

__all__ = ["bars", "plot", "read_image", "scatter", "show", "summary"]
