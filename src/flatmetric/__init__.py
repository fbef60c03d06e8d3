"""Exact, fast and honest scoring of point localizations by the Flat Metric."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from flatmetric.version import __version__

if TYPE_CHECKING:
    from flatmetric.curve import FlatCurve, flat_curve
    from flatmetric.errors import InputError, ReadWarning
    from flatmetric.formats import read
    from flatmetric.localizations import Localizations, Provenance
    from flatmetric.protocol import Protocol
    from flatmetric.result import FlatResult, FrameParts, Pairs
    from flatmetric.scoring import Score, score
    from flatmetric.transport import flat_metric

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

# Where each name lives: it is loaded when it is first asked for, and what nobody asks for costs nothing.
_HOMES = {
    "curve": ("FlatCurve", "flat_curve"),
    "errors": ("InputError", "ReadWarning"),
    "formats": ("read",),
    "localizations": ("Localizations", "Provenance"),
    "protocol": ("Protocol",),
    "result": ("FlatResult", "FrameParts", "Pairs"),
    "scoring": ("Score", "score"),
    "transport": ("flat_metric",),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            value = getattr(import_module(f"flatmetric.{home}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'flatmetric' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
