"""Values that may be undefined, with the reason."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Undefined:
    """What stands where a value has no meaning: why."""

    reason: str


Value = float | Undefined


def ratio(part: float, whole: float, reason: str) -> Value:
    """Part / whole, or why there is no such thing.

    Examples
    --------
    >>> ratio(1, 2, "no detections"), ratio(1, 0, "no detections")
    (0.5, Undefined(reason='no detections'))
    """
    return part / whole if whole else Undefined(reason)


def defined(value: Value) -> float | None:
    """The number, or None.

    Examples
    --------
    >>> defined(0.5), defined(Undefined("no match"))
    (0.5, None)
    """
    return None if isinstance(value, Undefined) else value


def plain(result: Any) -> dict[str, Any]:
    """The fields of a metric's result as plain values; what is undefined is None.

    Examples
    --------
    >>> @dataclasses.dataclass
    ... class R:
    ...     a: Value
    ...     b: Value
    >>> plain(R(1.0, Undefined("no match")))
    {'a': 1.0, 'b': None}
    """
    values = {field.name: getattr(result, field.name) for field in dataclasses.fields(result)}
    return {name: defined(v) if isinstance(v, Undefined) else v for name, v in values.items()}


def reasons(result: Any) -> dict[str, str]:
    """Why fields of a metric's result are undefined.

    Examples
    --------
    >>> @dataclasses.dataclass
    ... class R:
    ...     a: Value
    >>> reasons(R(Undefined("no match")))
    {'a': 'no match'}
    """
    values = {field.name: getattr(result, field.name) for field in dataclasses.fields(result)}
    return {name: value.reason for name, value in values.items() if isinstance(value, Undefined)}
