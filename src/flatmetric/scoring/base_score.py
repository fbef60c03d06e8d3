"""The base of every score: all metrics of one result, why some are undefined, and what it was computed from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from flatmetric._dataclass import dataclass
from flatmetric._display import Displayed
from flatmetric.localizations import Localizations, Provenance
from flatmetric.metrics.base import Reasons
from flatmetric.metrics.bound import BoundScore
from flatmetric.metrics.calibration import Calibration
from flatmetric.metrics.flat import FlatScore
from flatmetric.metrics.gospa import Gospa, Ospa
from flatmetric.metrics.images import ImageScore
from flatmetric.metrics.jaccard_rmse import ChallengeScore
from flatmetric.metrics.linked import LinkedScore
from flatmetric.metrics.molecules import MoleculeScore
from flatmetric.metrics.rmsmd import Rmsmd
from flatmetric.metrics.table import FAMILIES, METRICS, metric_named
from flatmetric.options.rules import Protocol
from flatmetric.options.scoring import AxisScale, MetricOptions, Weights, plain
from flatmetric.quality.findings import Findings
from flatmetric.scoring.intervals import Intervals
from flatmetric.version import __version__

if TYPE_CHECKING:
    import pandas as pd

    from flatmetric.scoring.advice import Advice

SCHEMA = "src/flatmetric/data/score-1.schema.json"


@dataclass(frozen=True, slots=True)
class Input:
    """One of the two tables: where it came from, its rows, its first and last frame, and whether a depth is not 0."""

    provenance: Provenance
    rows: int
    frames: tuple[int, int] | None
    deep: bool

    @classmethod
    def of(cls, table: Localizations) -> Input:
        """What a score records about a table.

        Examples
        --------
        >>> Input.of(Localizations(frame=[2, 5], x=[0.0, 0.0], y=[0.0, 0.0])).frames
        (2, 5)
        """
        frames = (int(table.frame.min()), int(table.frame.max())) if len(table) else None
        return cls(table.provenance, len(table), frames, table.z is not None and bool(table.z.any()))

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        source = self.provenance
        return {
            "name": source.file,
            "sha256": source.sha256,
            "format": source.format,
            "rows": self.rows,
            "frames": None if self.frames is None else list(self.frames),
            "conversions": list(source.conversions),
            "dropped": dict(source.dropped),
        }


@dataclass(frozen=True, slots=True)
class Basis:
    """What a score was computed from: both tables, how many of their rows count, and what was assumed."""

    truth: Input
    pred: Input
    n_truth: int
    n_pred: int
    photon_threshold: float | None
    assumptions: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class BaseScore(Displayed):
    """Every metric of one result; None where undefined, with the reason in `undefined()`. Lengths in nm.

    `findings` are what looks wrong with the files as a whole, `intervals` the confidence intervals if they were asked
    for.
    """

    options: MetricOptions
    dim: int
    protocol: Protocol
    flat_metric: FlatScore
    challenge: ChallengeScore
    molecules: MoleculeScore
    rmsmd: Rmsmd
    gospa: Gospa
    ospa: Ospa
    calibration: Calibration
    bound: BoundScore | None = None
    linked: LinkedScore | None = None
    images: ImageScore | None = None
    reasons: Reasons
    findings: Findings = field(default_factory=Findings)
    intervals: Intervals | None = None
    name: str = "result"

    @cached_property
    def basis(self) -> Basis:
        """What it was computed from."""
        raise NotImplementedError

    @property
    def lam(self) -> float:
        """Cost of a missed molecule or a false detection, nm."""
        return self.options.lam

    @property
    def weights(self) -> Weights:
        """What molecules weigh in the Flat Metric: "uniform" or "photons"."""
        return self.options.weights

    @property
    def axis_scale(self) -> AxisScale:
        """Factor for each axis in the Flat Metric; None for 1."""
        return self.options.axis_scale

    @property
    def advice(self) -> tuple[Advice, ...]:
        """What to do next."""
        return ()

    def __repr__(self) -> str:
        flat, jaccard = self.flat_metric.value, self.challenge.jaccard
        shown = "undefined" if flat is None else f"{flat:.4g} nm"
        shown_jaccard = "undefined" if jaccard is None else f"{jaccard:.4g} %"
        kind = type(self).__name__
        return f"{kind}(Flat Metric {shown} at lam {self.lam:g} nm, Jaccard {shown_jaccard}, {self.dim}D)"

    @property
    def value(self) -> float | None:
        """The Flat Metric, nm; None where it is undefined."""
        return self.flat_metric.value

    def __getitem__(self, name: str) -> float | None:
        """The value of a metric by its key in the JSON, or by its short name; None where it is undefined.

        Examples
        --------
        >>> from flatmetric.scoring.score import score_tables
        >>> t = Localizations(frame=[1], x=[0.0], y=[0.0])
        >>> score_tables(t, t)["jaccard"]
        100.0
        """
        return self.get(metric_named(name).key)

    def __iter__(self) -> Iterator[str]:
        return iter(METRICS)

    def __contains__(self, name: object) -> bool:
        """Whether a metric has this key or short name."""
        try:
            return isinstance(name, str) and bool(metric_named(name))
        except KeyError:
            return False

    def get(self, key: str) -> float | None:
        """The value of a metric by its key in the JSON, or its short name; None where it is undefined or unknown.

        Examples
        --------
        >>> from flatmetric.scoring.score import score_tables
        >>> t = Localizations(frame=[1], x=[0.0], y=[0.0])
        >>> score_tables(t, t).get("challenge.jaccard"), score_tables(t, t).get("jaccard")
        (100.0, 100.0)
        """
        if key not in METRICS:
            if key not in self:
                return None
            key = metric_named(key).key
        part, name = key.split(".")
        value: float | None = getattr(getattr(self, part), name, None)
        return value

    def undefined(self) -> Reasons:
        """Why values are None, by their key in the JSON.

        Examples
        --------
        >>> from flatmetric.scoring.score import score_tables
        >>> t = Localizations(frame=[1], x=[0.0], y=[0.0])
        >>> score_tables(t, t).undefined()["challenge.rmse_z"]
        'scored in 2D'
        """
        return dict(self.reasons)

    def assumptions(self) -> list[str]:
        """What the files did not say, and what was taken instead; a sentence for each file.

        Examples
        --------
        >>> from flatmetric.scoring.score import score_tables
        >>> t = Localizations(frame=[1], x=[0.0], y=[0.0])
        >>> score_tables(t, t).assumptions()
        []
        """
        basis = self.basis
        truth, pred = basis.truth.provenance, basis.pred.provenance
        flat = []
        if self.dim == 2 and self.protocol.dim is None and basis.truth.deep:
            flat = [f"scored in 2D, as {pred.file or 'the result'} has no depths (otherwise give dim=3)"]
        return [*truth.assumed("truth_"), *pred.assumed(), *basis.assumptions, *flat]

    def to_pandas(self) -> pd.DataFrame:
        """A row for each metric: title, value, unit, interval if there is one, and why it is undefined if it is.

        Examples
        --------
        >>> from flatmetric.scoring.score import score_tables
        >>> t = Localizations(frame=[1], x=[0.0], y=[0.0])
        >>> float(score_tables(t, t).to_pandas().loc["challenge.jaccard", "value"])
        100.0
        """
        import pandas as pd

        rows, undefined = [], self.undefined()
        spans = {} if self.intervals is None else self.intervals.intervals
        for key, one in METRICS.items():
            if getattr(self, key.split(".")[0]) is not None:
                low, high = spans.get(key) or (None, None)
                rows.append((key, one.title, self.get(key), one.unit, low, high, undefined.get(key, "")))
        names = ["key", "metric", "value", "unit", "low", "high", "undefined"]
        return pd.DataFrame([dict(zip(names, row, strict=True)) for row in rows]).set_index("key")

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, None where undefined: the JSON of `flatmetric score`.

        Examples
        --------
        >>> from flatmetric.scoring.score import score_tables
        >>> t = Localizations(frame=[1], x=[0.0], y=[0.0])
        >>> score_tables(t, t).to_dict()["flat_metric"]["value"]
        0.0
        """
        basis = self.basis
        parts = {part: plain(getattr(self, part)) for part in FAMILIES if getattr(self, part) is not None}
        parts["challenge"] |= {
            "photon_threshold": basis.photon_threshold,
            "alpha_xy": self.options.alpha_xy,
            "alpha_z": self.options.alpha_z,
        }
        return {
            "schema": SCHEMA,
            "version": __version__,
            "inputs": {"truth": basis.truth.to_dict(), "pred": basis.pred.to_dict()},
            "lam_nm": self.lam,
            "dim": self.dim,
            "weights": self.weights,
            "axis_scale": None if self.axis_scale is None else list(self.axis_scale),
            "protocol": self.protocol.to_dict(),
            "compared": {"truth": basis.n_truth, "pred": basis.n_pred},
            **parts,
            "undefined": self.undefined(),
            "assumptions": self.assumptions(),
            "findings": [finding.to_dict() for finding in self.findings],
            "advice": [one.to_dict() for one in self.advice],
            "warnings": [str(finding) for finding in self.findings],
        }
