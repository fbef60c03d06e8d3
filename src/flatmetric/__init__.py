"""Exact, fast and honest scoring of point localizations by the Flat Metric."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from flatmetric.version import __version__

if TYPE_CHECKING:
    from flatmetric.api.check import check, convert, inspect
    from flatmetric.api.compare import compare
    from flatmetric.api.leaderboard import leaderboard
    from flatmetric.api.ranges import score_in_ranges
    from flatmetric.api.report import report
    from flatmetric.api.score import confidence, score
    from flatmetric.api.simulate import localize, simulate
    from flatmetric.api.tune import tune
    from flatmetric.api.validate import validate
    from flatmetric.challenge.leaderboard import Leaderboard
    from flatmetric.errors import FindingWarning, InputError, ReadWarning
    from flatmetric.formats.read import read
    from flatmetric.localizations import Localizations, Provenance
    from flatmetric.matching.protocol import Protocol
    from flatmetric.metrics.bound import Imaging
    from flatmetric.quality.findings import Finding, Findings
    from flatmetric.scoring.linking import Link
    from flatmetric.scoring.score import Score
    from flatmetric.statistics.comparison import Comparison
    from flatmetric.transport.curve import FlatCurve, flat_curve
    from flatmetric.transport.flat_metric import flat_metric
    from flatmetric.transport.result import FlatResult, FrameParts, Pairs

# The module of each name, which is loaded when the name is first used.
_MODULES = {
    "api.check": ("check", "convert", "inspect"),
    "api.compare": ("compare",),
    "api.leaderboard": ("leaderboard",),
    "api.ranges": ("score_in_ranges",),
    "api.report": ("report",),
    "api.score": ("confidence", "score"),
    "api.simulate": ("localize", "simulate"),
    "api.tune": ("tune",),
    "api.validate": ("validate",),
    "challenge.leaderboard": ("Leaderboard",),
    "errors": ("FindingWarning", "InputError", "ReadWarning"),
    "formats.read": ("read",),
    "localizations": ("Localizations", "Provenance"),
    "matching.protocol": ("Protocol",),
    "metrics.bound": ("Imaging",),
    "quality.findings": ("Finding", "Findings"),
    "scoring.linking": ("Link",),
    "scoring.score": ("Score",),
    "statistics.comparison": ("Comparison",),
    "transport.curve": ("FlatCurve", "flat_curve"),
    "transport.flat_metric": ("flat_metric",),
    "transport.result": ("FlatResult", "FrameParts", "Pairs"),
}

__all__ = [
    "Comparison",
    "Finding",
    "FindingWarning",
    "Findings",
    "FlatCurve",
    "FlatResult",
    "FrameParts",
    "Imaging",
    "InputError",
    "Leaderboard",
    "Link",
    "Localizations",
    "Pairs",
    "Protocol",
    "Provenance",
    "ReadWarning",
    "Score",
    "__version__",
    "check",
    "compare",
    "confidence",
    "convert",
    "flat_curve",
    "flat_metric",
    "inspect",
    "leaderboard",
    "localize",
    "read",
    "report",
    "score",
    "score_in_ranges",
    "simulate",
    "tune",
    "validate",
]


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            value = getattr(import_module(f"flatmetric.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'flatmetric' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
