"""Exact, fast and honest scoring of point localizations by the Flat Metric."""

from importlib import import_module
from typing import Any

from flatmetric._display import Displayed, set_finder
from flatmetric.version import __version__

# The module of each public name, which is loaded when the name is first used. Their signatures are in __init__.pyi.
_MODULES = {
    "api.challenge": ("Challenge", "challenge"),
    "api.check": ("check", "convert", "inspect"),
    "api.compare": ("compare",),
    "api.demo": ("run_demo",),
    "api.leaderboard": ("leaderboard",),
    "api.paper": ("paper_figures",),
    "api.read": ("read",),
    "api.report": ("report",),
    "api.score": ("confidence", "score", "score_in_ranges"),
    "api.simulate": ("compare_traits", "localize", "localize_methods", "simulate"),
    "api.submit": ("Receipt", "submit"),
    "api.tune": ("tune",),
    "api.twin": ("Twin", "twin"),
    "api.validate": ("validate",),
    "challenges.leaderboard": ("Leaderboard",),
    "errors": ("FindingWarning", "InputError", "ReadWarning"),
    "localizations": ("Localizations", "Provenance"),
    "options.rules": ("Protocol",),
    "options.scoring": ("Imaging", "Link"),
    "quality.findings": ("Finding", "Findings"),
    "scoring.score": ("Score",),
    "statistics.comparison": ("Comparison",),
    "transport.curve": ("FlatCurve", "flat_curve"),
    "transport.flat_metric": ("flat_metric",),
    "transport.result": ("FlatResult", "FrameParts", "Pairs"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}
__all__ = ["__version__", *_MODULE_OF]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'flatmetric' has no attribute {name!r}")
    value = getattr(import_module(f"flatmetric.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


def _view_of(result: Displayed) -> Any:
    return import_module("flatmetric.reports.views").view_of(result)


set_finder(_view_of)
