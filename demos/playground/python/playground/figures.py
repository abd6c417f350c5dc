"""matplotlib's figures, shown in the page: this module is its backend (MPLBACKEND=module://playground.figures)."""

import html
import io

from matplotlib._pylab_helpers import Gcf
from matplotlib.backends.backend_agg import FigureCanvasAgg as FigureCanvas
from matplotlib.backends.backend_agg import FigureManagerBase as FigureManager

from .display import emit
from .picture import data_url

__all__ = ["FigureCanvas", "FigureManager", "show"]


def show(*args, **kwargs):
    """plt.show(): every open figure goes to the page and is closed. The page calls it at the end of a run, too."""
    for manager in Gcf.get_all_fig_managers():
        emit(picture(manager.canvas.figure))
    Gcf.destroy_all()


def picture(figure):
    data = io.BytesIO()
    figure.savefig(data, format="png", dpi=2 * figure.dpi, bbox_inches="tight")
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    alt = html.escape(", ".join(titles) or "Figure", quote=True)
    width = round(figure.get_figwidth() * figure.dpi)
    return f'<img class="figure" alt="{alt}" width="{width}" src="{data_url(data.getvalue())}">'
