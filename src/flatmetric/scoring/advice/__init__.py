"""What to do next: where a result loses most of its Flat Metric, in sentences with what each remedy would gain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flatmetric._dataclass import dataclass
from flatmetric.quality.findings import spoil_advice
from flatmetric.scoring.advice.detections import hot_spots, repeated, threshold
from flatmetric.scoring.advice.evidence import Evidence, RemedySearch
from flatmetric.scoring.advice.groups import crowded, dim, edge
from flatmetric.scoring.advice.pairs import merged
from flatmetric.scoring.advice.shift import without_bias
from flatmetric.scoring.advice.stretches import depth, frames

if TYPE_CHECKING:
    from flatmetric.scoring.score import Score

MOST = 5
"""At most this many pieces of advice."""

_LEAST_SHARE = 0.01  # of the Flat Metric: less is not worth a sentence
_CROWDING: tuple[RemedySearch, ...] = (crowded, merged)
"""Two views of one cause: only the one that explains more is reported."""
_SEARCHES: tuple[RemedySearch, ...] = (edge, dim, depth, frames, hot_spots, repeated, threshold, *_CROWDING)


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing to do: its kind, a sentence, what it would take off the Flat Metric (nm), and the numbers behind it.

    Examples
    --------
    >>> print(Advice("bias", "Subtract the bias of x +12.0 nm.", 3.2, {"x": 12.0}))
    Subtract the bias of x +12.0 nm. Fixing this would lower the Flat Metric by 3.2 nm.
    """

    kind: str
    sentence: str
    gain: float
    numbers: dict[str, float]

    def __str__(self) -> str:
        digits = 0 if self.gain >= 99.95 else 1
        return f"{self.sentence} Fixing this would lower the Flat Metric by {self.gain:.{digits}f} nm."

    def to_dict(self) -> dict[str, Any]:
        """The advice as plain values, for JSON; the gain in nm."""
        return {"kind": self.kind, "sentence": self.sentence, "gain_nm": self.gain, "numbers": dict(self.numbers)}


def advice_for(score: Score) -> tuple[Advice, ...]:
    """At most five things to do, the largest gain first; nothing where the file itself is wrong.

    Gains add up: what one piece of advice explains is left out of the next, so a missed molecule near the edge and with
    a near neighbour counts once. A bias is taken off first, and all else is found in what is left.

    Examples
    --------
    >>> import flatmetric as fm
    >>> truth = {"frame": list(range(1, 41)), "x": [500.0] * 40, "y": [40.0 * k for k in range(40)]}
    >>> shifted = dict(truth, x=[530.0] * 40)
    >>> [str(one) for one in advice_for(fm.score(truth, shifted, check=False))]
    ['Subtract the bias of x +30.0 nm. Fixing this would lower the Flat Metric by 30.0 nm.']
    """
    value = score.flat_metric.value
    if not value or score.flat_result is None or spoil_advice(score.findings):
        return ()
    evidence = Evidence(score, _LEAST_SHARE * value)
    chosen = []
    bias = without_bias(evidence)
    if bias is not None:
        chosen.append(bias[0])
        evidence = bias[1]
    left = list(_SEARCHES)
    while len(chosen) < MOST:
        remedies = [(remedy, look) for look in left if (remedy := look(evidence)) is not None]
        if not remedies:
            break
        best, look = max(remedies, key=lambda one: one[0].gain)
        chosen.append(best)
        evidence.explain(best.truth, best.pred)
        left = [one for one in left if one not in (_CROWDING if look in _CROWDING else (look,))]
    chosen.sort(key=lambda remedy: -remedy.gain)
    return tuple(Advice(one.kind, one.sentence, one.gain, one.numbers) for one in chosen)
