"""Findings of several results on one truth: what all of them have is said once, about the truth or the rules."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from flatmetric._dataclass import dataclass
from flatmetric.quality.findings import Finding, by_words

_SAME_NM = 3.0  # two programs rarely measure a common shift more precisely than this
_SAME_SHARE = 0.2  # of a shift, drift or angle
_SAME_FACTOR = 0.005  # of a scale: programs measure it more precisely


@dataclass(frozen=True, slots=True)
class Remarks:
    """What looks wrong with results on one truth: sentences on what they share, and the findings of each alone."""

    shared: tuple[str, ...]
    own: dict[str, tuple[Finding, ...]]


def remarks_on(findings: Mapping[str, Sequence[Finding]]) -> Remarks:
    """What the results on one truth share, said once, and what each has alone.

    An error that all of them make in the same way is one of the truth. Remarks on the field and its border are about
    the rules, and are the same for all.

    Examples
    --------
    >>> def shift(x):
    ...     return Finding("shift", {"x": x, "y": 10.4, "z": 0.0, "half_pixel": False}, 84.0, 81.5, 1.0)
    >>> found = remarks_on({"a": [shift(10.1)], "b": [shift(9.9)], "c": [shift(10.3)]})
    >>> found.shared
    ('all 3 results are shifted by x +10.1, y +10.4 nm; look at the origin of the truth',)
    >>> found.own["a"]
    ()
    """
    own = {name: list(those) for name, those in findings.items()}
    shared: list[str] = []
    kinds = dict.fromkeys(finding.kind for those in own.values() for finding in those)
    for kind in kinds:
        of_kind = {name: [one for one in those if one.kind == kind] for name, those in own.items()}
        first = next(one for those in of_kind.values() for one in those)
        everyone = [those[0] for those in of_kind.values() if those]
        if first.type.by_rules:
            shared.append(_about_the_rules(everyone, len(own)))
        elif len(own) > 1 and len(everyone) == len(own) and first.type.truth and _agree(everyone):
            common = replace(first, estimate=_middle([one.estimate for one in everyone]))
            what = f"all {len(own)} results: {common.what()}"
            if kind == "shift":
                what = f"all {len(own)} results are shifted by {by_words(common.estimate)}"
            shared.append(f"{what}; look at the {first.type.truth} of the truth")
        else:
            continue
        own = {name: [one for one in those if one.kind != kind] for name, those in own.items()}
    if len(own) > 1:  # what was seen when the truth was read
        texts = [{str(one) for one in those if one.kind == "file"} for those in own.values()]
        common_texts = set.intersection(*texts)
        shared += sorted(common_texts)
        own = {name: [one for one in those if str(one) not in common_texts] for name, those in own.items()}
    return Remarks(tuple(shared), {name: tuple(those) for name, those in own.items()})


def _about_the_rules(found: Sequence[Finding], results: int) -> str:
    """A remark on the field or its border, from the finding that reaches furthest."""
    if found[0].kind == "field":
        return str(found[0])
    widest = max(found, key=lambda one: float(one.estimate["border"]))
    width = f"{widest.estimate['border']:g} nm of the edge"
    if results == 1:
        return str(widest)
    return f"{len(found)} of {results} results have next to nothing within {width}: {widest.fix} leaves it out"


def _agree(found: Sequence[Finding]) -> bool:
    """Whether findings of one kind have the same size, as far as it can be measured."""
    numbers = [_numbers(one.estimate) for one in found]
    if len({tuple(one) for one in numbers}) > 1:  # of other parts, as the axis that is mirrored
        return False
    factor = found[0].kind in ("unit", "scale")
    for part in numbers[0]:
        values = [one[part] for one in numbers]
        middle = statistics.median(values)
        near = _SAME_FACTOR * abs(middle) if factor else max(_SAME_SHARE * abs(middle), _SAME_NM)
        if found[0].kind == "frame_offset":
            near = 0.0
        if any(abs(value - middle) > near for value in values):
            return False
    return True


def _numbers(estimate: Any) -> dict[str, float]:
    """The numbers of an estimate by name; words become parts of the names."""
    if isinstance(estimate, Mapping):
        words = " ".join(str(value) for value in estimate.values() if isinstance(value, str))
        plain = {name: value for name, value in estimate.items() if type(value) in (int, float)}
        return {f"{words} {name}".strip(): float(value) for name, value in plain.items()}
    return {"": float(estimate)} if type(estimate) in (int, float) else {}


def _middle(estimates: Sequence[Any]) -> Any:
    """The median of estimates that agree, part by part."""
    first = estimates[0]
    if isinstance(first, Mapping):
        plain = [name for name, value in first.items() if type(value) in (int, float)]
        return {**first, **{name: statistics.median(one[name] for one in estimates) for name in plain}}
    return statistics.median_low(estimates) if type(first) in (int, float) else first
