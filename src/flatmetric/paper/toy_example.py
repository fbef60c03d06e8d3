"""Figure 3: a few points with all three behaviours: transported, destroyed, created."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flatmetric._arrays import FloatArray
from flatmetric._dataclass import dataclass
from flatmetric.plots import style
from flatmetric.plots.transport_map import OWN, MapColors, transport_map
from flatmetric.transport.flat_metric import flat_metric
from flatmetric.transport.result import FlatResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINTS = 15  # as in the paper
FIELD = (1.0, 0.5)  # as in the paper
LAM = 0.1  # as in the paper
_KEPT = 12  # as in the paper
_INVENTED = 3  # as in the paper
_PRINTED = MapColors("red", "green", "black", "black", "black", filled=True)
_SPREAD = 0.04  # of the kept points about their true places: within 2 lam, so that most are transported


@dataclass(frozen=True, slots=True, eq=False)
class ToyExample:
    """True points, an estimate of them, and the Flat Metric between the two; all in one unit of length."""

    truth: FloatArray
    pred: FloatArray
    result: FlatResult

    @property
    def transported(self) -> int:
        """Points that are moved."""
        return len(self.result.pairs)

    @property
    def destroyed(self) -> int:
        """Estimated points without a true partner: false."""
        return len(self.pred) - self.transported

    @property
    def created(self) -> int:
        """True points that nothing is moved to: missed."""
        return len(self.truth) - self.transported

    def columns(self) -> dict[str, list[str] | FloatArray]:
        """One row for each point, true ones first: its set, its place, and what the plan does with it."""
        fates = {"truth": ["created"] * len(self.truth), "estimate": ["destroyed"] * len(self.pred)}
        for i, j in zip(self.result.pairs.truth, self.result.pairs.pred, strict=True):
            fates["truth"][i], fates["estimate"][j] = f"transported to estimate {j}", f"transported from truth {i}"
        places = np.concatenate([self.truth, self.pred])
        sets = ["truth"] * len(self.truth) + ["estimate"] * len(self.pred)
        return {"set": sets, "x": places[:, 0], "y": places[:, 1], "plan": fates["truth"] + fates["estimate"]}


def toy_example(seed: int = 0) -> ToyExample:
    """Draw 15 true points in [0, 1] x [0, 0.5] and an estimate that shifts, loses and invents some; lam is 0.1.

    Examples
    --------
    >>> toy = toy_example(seed=0)
    >>> toy.transported, toy.destroyed, toy.created
    (12, 3, 3)
    """
    rng = np.random.default_rng(seed)
    truth = rng.uniform((0.0, 0.0), FIELD, (POINTS, 2))
    kept = truth[:_KEPT] + rng.normal(0.0, _SPREAD, (_KEPT, 2))
    pred = np.concatenate([kept, rng.uniform((0.0, 0.0), FIELD, (_INVENTED, 2))])
    return ToyExample(truth, pred, flat_metric(truth, pred, lam=LAM))


def draw(toy: ToyExample, *, as_printed: bool = False) -> Figure:
    """The map of the plan, as in the paper: a line for transport, a cross for an estimated point that is destroyed, a
    plus for mass that is created at a true point; `as_printed` also in the paper's colours.

    Examples
    --------
    >>> draw(toy_example()).axes[0].get_xlabel()
    'x'
    """
    result = toy.result
    with style.house_style():
        figure = style.new_figure(6.0, 2.9)
        axes = transport_map(
            figure.subplots(),
            toy.truth,
            toy.pred,
            result.pairs.truth,
            result.pairs.pred,
            scale_bar=False,
            colors=_PRINTED if as_printed else OWN,
        )
        axes.invert_yaxis()  # the paper's y points up
        axes.set(xlabel="x", ylabel="y")
        axes.set_title(
            f"Flat Metric {result.value:.4f} = transported {result.displaced:.4f}"
            f" + destroyed {result.false:.4f} + created {result.missed:.4f}"
        )
        names = ["truth", "estimate"]
        names += ["transport"] * (toy.transported > 0) + ["creation"] * (toy.created > 0)
        names += ["destruction"] * (toy.destroyed > 0)
        handles, _ = axes.get_legend_handles_labels()
        axes.legend(handles, names, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure
