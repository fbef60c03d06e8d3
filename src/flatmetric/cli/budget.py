"""The error budget as text: what the Flat Metric consists of."""

from __future__ import annotations

from flatmetric.result import FlatResult

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
    parts = {"displaced": result.displaced, "missed": result.missed, "false": result.false}
    width = len(f"{result.value:.2f}")
    lines = [f"Flat Metric  {result.value:.2f} nm per true molecule"]
    for name, part in parts.items():
        share = part / result.value if result.value > 0 else 0.0
        bar = "#" * round(_BAR_WIDTH * share)
        lines.append(f"  {name:<9}  {part:>{width}.2f} nm  {100 * share:3.0f} %  {bar}".rstrip())
    lines.append(_sentence(result.value, parts))
    return "\n".join(lines)


def _sentence(value: float, parts: dict[str, float]) -> str:
    if value == 0:
        return "Every molecule was found where it is."
    what = {"displaced": "displaced molecules", "missed": "missed molecules", "false": "false detections"}
    largest = max(parts, key=lambda name: parts[name])
    return f"On average {value:.1f} nm per molecule; {100 * parts[largest] / value:.0f} % of it from {what[largest]}."
