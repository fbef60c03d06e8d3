"""The rules of a comparison from options: a preset or a file to start from, what overrides it, and the field."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flatmetric.api.options import Rules, options_of
from flatmetric.errors import InputError
from flatmetric.localizations import Localizations
from flatmetric.matching.protocol import Protocol, Wobble, field_of_view, read_wobble
from flatmetric.quality.findings import Finding

_FITS = (0.7, 1.02)  # the extent of the truth as a part of the field of view
_FEWEST = 50  # molecules: fewer may leave a part of the field empty


def rules_from(given: Mapping[str, Any]) -> Protocol:
    """The rules to start from, overridden by the given options.

    Examples
    --------
    >>> rules_from({"protocol": "challenge2016", "tolerance": 100}).tolerance
    100
    """
    start = given.get("protocol")
    if start is None:
        start = Protocol()
    elif isinstance(start, (str, os.PathLike)):
        text = os.fspath(start)
        start = Protocol.from_toml(text) if str(text).endswith(".toml") else Protocol.preset(str(text))
    elif not isinstance(start, Protocol):
        raise InputError(f"protocol is {start!r:.60}; give challenge2016, a TOML file or a Protocol")
    changes = {name: given[name] for name in options_of(Rules) if given.get(name) is not None and name != "protocol"}
    if "fov" in changes:
        changes["fov"] = field_of_view(changes["fov"])
    wobble = changes.get("wobble")
    if wobble is not None and not isinstance(wobble, Wobble):
        if not isinstance(wobble, (str, os.PathLike)):
            raise InputError(f"wobble is {wobble!r:.40}; give a CSV file, or a Wobble")
        changes["wobble"] = read_wobble(Path(wobble))
    return start.changed(**changes)


def rule_files(given: Mapping[str, Any]) -> list[Path]:
    """The files that the rules are read from."""
    named = (given.get("protocol"), given.get("wobble"))
    return [Path(name) for name in named if isinstance(name, (str, os.PathLike))]


def with_field(
    protocol: Protocol, given: Mapping[str, Any], truth: Localizations, pred: Localizations
) -> tuple[Protocol, Finding | None]:
    """The rules with the field of view of the data, where the rules have one that nobody gave for these data.

    The field comes from a file that states it; else that of the rules stays, and a finding says if it does not fit.

    Examples
    --------
    >>> small = Localizations(frame=[1] * 60, x=[*range(0, 3000, 50)], y=[*range(0, 3000, 50)])
    >>> rules = {"protocol": "challenge2016"}
    >>> _, finding = with_field(rules_from(rules), rules, small, small)
    >>> finding.fix
    'fov=3000'
    """
    field, extent = protocol.fov, truth.extent
    if field is None or given.get("fov") is not None or len(truth) < _FEWEST:
        return protocol, None
    reached = extent["x"][1], extent["y"][1]
    if all(_FITS[0] * size <= high <= _FITS[1] * size for size, high in zip(field, reached, strict=True)):
        return protocol, None
    for table in (truth, pred):
        stated = table.provenance.fov
        if stated is not None and (protocol.border is None or protocol.border < min(stated) / 2):
            return dataclasses.replace(protocol, fov=stated), None
    step = 100.0
    fits = tuple(step * -(-high // step) for high in reached)
    estimate = {"fov": field, "extent": reached}
    option = fits[0] if fits[0] == fits[1] else fits
    return protocol, Finding("field", estimate, None, None, 1.0, {"fov": option})
