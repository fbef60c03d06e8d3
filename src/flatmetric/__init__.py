"""Exact, fast and honest scoring of point localizations by the Flat Metric."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from flatmetric.version import __version__

if TYPE_CHECKING:
    from flatmetric.errors import InputError, ReadWarning
    from flatmetric.formats.read import read
    from flatmetric.localizations import Localizations, Provenance
    from flatmetric.matching.protocol import Protocol
    from flatmetric.metrics.bound import Imaging
    from flatmetric.scoring.linking import Link
    from flatmetric.scoring.score import Score, score
    from flatmetric.transport.curve import FlatCurve, flat_curve
    from flatmetric.transport.flat_metric import flat_metric
    from flatmetric.transport.result import FlatResult, FrameParts, Pairs

__all__ = [
    "FlatCurve",
    "FlatResult",
    "FrameParts",
    "Imaging",
    "InputError",
    "Link",
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

# The module of each name, which is loaded when the name is first used.
_MODULES = {
    "errors": ("InputError", "ReadWarning"),
    "formats.read": ("read",),
    "localizations": ("Localizations", "Provenance"),
    "matching.protocol": ("Protocol",),
    "metrics.bound": ("Imaging",),
    "scoring.linking": ("Link",),
    "scoring.score": ("Score", "score"),
    "transport.curve": ("FlatCurve", "flat_curve"),
    "transport.flat_metric": ("flat_metric",),
    "transport.result": ("FlatResult", "FrameParts", "Pairs"),
}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            value = getattr(import_module(f"flatmetric.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'flatmetric' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
