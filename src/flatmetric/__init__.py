"""Exact, fast and honest scoring of point localizations by the Flat Metric."""

from importlib.metadata import version as _version

from flatmetric.result import FlatResult, FrameParts, Pairs
from flatmetric.transport import flat_metric

__all__ = ["FlatResult", "FrameParts", "Pairs", "__version__", "flat_metric"]

__version__ = _version("flatmetric")
