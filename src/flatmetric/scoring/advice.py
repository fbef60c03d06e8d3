"""What to do next: where a result loses most of its Flat Metric, in sentences with what each remedy would gain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flatmetric.scoring.evidence import Evidence
from flatmetric.scoring.remedies import REMEDIES, Remedy
from flatmetric.scoring.score import Score

MOST = 5
"""At most this many pieces of advice."""

_LEAST_SHARE = 0.01  # of the Flat Metric: less is not worth a sentence


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing to do: its kind, a sentence, what it would take off the Flat Metric (nm), and the numbers behind it.

    Examples
    --------
    >>> print(Advice("bias", "Subtract the bias of x +12.0 nm.", 3.2, {"x": 12.0}))
    Subtract the bias of x +12.0 nm. This would gain 3.2 nm.
    """

    kind: str
    sentence: str
    gain: float
    numbers: dict[str, float]

    def __str__(self) -> str:
        return f"{self.sentence} This would gain {self.gain:.{0 if self.gain >= 99.95 else 1}f} nm."

    def to_dict(self) -> dict[str, Any]:
        """The advice as plain values, for JSON; the gain in nm."""
        return {"kind": self.kind, "sentence": self.sentence, "gain_nm": self.gain, "numbers": dict(self.numbers)}


def advice_for(score: Score) -> tuple[Advice, ...]:
    """At most five things to do, the largest gain first.

    Gains add up: what one piece of advice explains is left out of the next, so a missed molecule near the edge and with
    a near neighbour counts once.

    Examples
    --------
    >>> from flatmetric.scoring.score import score
    >>> truth = {"frame": list(range(1, 41)), "x": [500.0] * 40, "y": [float(k) for k in range(40)]}
    >>> shifted = dict(truth, x=[530.0] * 40)
    >>> [str(one) for one in advice_for(score(truth, shifted))]
    ['Subtract the bias of x +30.0 nm. This would gain 30.0 nm.']
    """
    value = score.flat_metric.value
    if not value:
        return ()
    evidence, left, advice = Evidence(score), list(REMEDIES), list[Advice]()
    while len(advice) < MOST:
        found = [(remedy, look) for look in left if (remedy := look(evidence)) is not None]
        best, look = max(found, key=lambda one: one[0].gain, default=(None, None))
        if best is None or look is None or best.gain < _LEAST_SHARE * value:
            break
        advice.append(_advice(best))
        evidence.explain(best.truth, best.pred)
        left.remove(look)
    return tuple(advice)


def _advice(remedy: Remedy) -> Advice:
    return Advice(remedy.kind, remedy.sentence, remedy.gain, remedy.numbers)
