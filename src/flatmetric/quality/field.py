"""The field of view of a comparison: that of the rules, or of the data where the rules have one that does not fit."""

from __future__ import annotations

import dataclasses

from flatmetric.localizations import Localizations
from flatmetric.options.rules import Protocol
from flatmetric.quality.findings import Finding

_FITS = (0.7, 1.02)  # the extent of the truth as a part of the field of view
_FEWEST = 50  # molecules: fewer may leave a part of the field empty


def with_field(protocol: Protocol, truth: Localizations, pred: Localizations) -> tuple[Protocol, Finding | None]:
    """The rules with the field of view of the data, where the rules come with one that was not given for these data.

    The field comes from a file that states it; else that of the rules stays, and a finding reports if it does not fit.

    Examples
    --------
    >>> small = Localizations(frame=[1] * 60, x=[*range(0, 3000, 50)], y=[*range(0, 3000, 50)])
    >>> _, finding = with_field(Protocol.preset("challenge2016"), small, small)
    >>> finding.fix
    'fov=3000'
    """
    field, extent = protocol.fov, truth.extent
    if field is None or protocol.fov_given or len(truth) < _FEWEST:
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
