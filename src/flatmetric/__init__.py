"""Exact, fast and honest scoring of point localizations by the Flat Metric."""

from importlib.metadata import version as _version

from flatmetric.errors import InputError, ReadWarning
from flatmetric.formats import read
from flatmetric.localizations import Localizations, Provenance
from flatmetric.result import FlatResult, FrameParts, Pairs
from flatmetric.transport import flat_metric

__all__ = [
    "FlatResult",
    "FrameParts",
    "InputError",
    "Localizations",
    "Pairs",
    "Provenance",
    "ReadWarning",
    "__version__",
    "flat_metric",
    "read",
]

__version__ = _version("flatmetric")
