"""The error budget as text: what the Flat Metric consists of."""

from __future__ import annotations

from flatmetric.result import FlatResult
from flatmetric.words import budget_sentence

_BAR_WIDTH = 40


def error_budget(result: FlatResult) -> str:
    """The value, its three parts in nm and percent with bars, and one plain sentence. Lengths in nm.

    Examples
    --------
    >>> import flatmetric as fm
    >>> print(error_budget(fm.flat_metric([[0, 0], [900, 0]], [[3, 4]], lam=125)))
    Flat Metric  65.00 nm per true molecule
      displaced   2.50 nm    4 %  ##
      missed     62.50 nm   96 %  ######################################
      false       0.00 nm    0 %
    On average 65.0 nm per molecule; 96 % of it from missed molecules.
    """
    return error_budget_of(result.value, result.displaced, result.missed, result.false)


def error_budget_of(value: float, displaced: float, missed: float, false: float, weights: str = "uniform") -> str:
    """The same from the numbers (nm); with photons as weights the unit of mass is the true photons."""
    parts = {"displaced": displaced, "missed": missed, "false": false}
    width = len(f"{value:.2f}")
    unit = "molecule" if weights == "uniform" else "photon"
    lines = [f"Flat Metric  {value:.2f} nm per true {unit}"]
    for name, part in parts.items():
        share = part / value if value > 0 else 0.0
        bar = "#" * round(_BAR_WIDTH * share)
        lines.append(f"  {name:<9}  {part:>{width}.2f} nm  {100 * share:3.0f} %  {bar}".rstrip())
    lines.append(budget_sentence(value, displaced, missed, false, unit))
    return "\n".join(lines)
