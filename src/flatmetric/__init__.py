"""Exact, fast and honest scoring of point localizations by the Flat Metric."""

from flatmetric.curve import FlatCurve, flat_curve
from flatmetric.errors import InputError, ReadWarning
from flatmetric.formats import read
from flatmetric.localizations import Localizations, Provenance
from flatmetric.protocol import Protocol
from flatmetric.result import FlatResult, FrameParts, Pairs
from flatmetric.scoring import Score, score
from flatmetric.transport import flat_metric
from flatmetric.version import __version__

__all__ = [
    "FlatCurve",
    "FlatResult",
    "FrameParts",
    "InputError",
    "Localizations",
    "Pairs",
    "Protocol",
    "Provenance",
    "ReadWarning",
    "Score",
    "__version__",
    "flat_curve",
    "flat_metric",
    "read",
    "score",
]
