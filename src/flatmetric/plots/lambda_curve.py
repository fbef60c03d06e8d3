"""The Flat Metric for every lam, of one program or many."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING

from flatmetric.plots import style
from flatmetric.transport.curve import FlatCurve, crossings

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DASHES = ("-", "--", "-.", ":")


def lambda_curves(axes: Axes, curves: Mapping[str, FlatCurve], *, lam: float | None = None) -> Axes:
    """Curves by program name, with a ring where two of them cross and a line at `lam` (nm).

    Examples
    --------
    >>> import flatmetric as fm
    >>> from flatmetric.plots.style import new_figure
    >>> precise = fm.flat_curve([[0], [1000]], [[1]], lam_max=250)
    >>> complete = fm.flat_curve([[0], [1000]], [[40], [1040]], lam_max=250)
    >>> axes = lambda_curves(new_figure(3, 3).subplots(), {"precise": precise, "complete": complete})
    >>> [round(float(axes.lines[-1].get_xdata()[0]), 6)]
    [79.0]
    """
    for at, (name, curve) in enumerate(curves.items()):
        color, dashes = style.SERIES[at % len(style.SERIES)], _DASHES[at % len(_DASHES)]
        axes.plot(curve.lam, curve.value, label=style.literal(name), color=color, linestyle=dashes)
    if lam is not None:
        axes.axvline(lam, color=style.GREY, linestyle=":", linewidth=1)
    for a, b in itertools.combinations(curves.values(), 2):
        for place in crossings(a, b):
            axes.plot([place], [float(a(place))], marker="o", markersize=8, color=style.BLACK, fillstyle="none")
    axes.set(xlabel="lam [nm]", ylabel="Flat Metric [nm]")
    axes.set_ylim(bottom=0)
    if len(curves) > 1:
        axes.legend()
    return axes
