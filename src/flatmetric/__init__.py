"""Exact, fast and honest scoring of point localizations by the Flat Metric."""

from importlib.metadata import version as _version

from flatmetric.errors import InputError, ReadWarning
from flatmetric.formats import read
from flatmetric.localizations import Localizations, Provenance
from flatmetric.protocol import Protocol
from flatmetric.result import FlatResult, FrameParts, Pairs
from flatmetric.scoring import Score, score
from flatmetric.transport import flat_metric

__all__ = [
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
    "flat_metric",
    "read",
    "score",
]

__version__ = _version("flatmetric")
