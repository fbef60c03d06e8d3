"""`score`: every metric of a result against the truth, by one protocol."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from flatmetric._shown import Shown, look_of
from flatmetric._validation import thread_count
from flatmetric.errors import InputError
from flatmetric.localizations import Localizations
from flatmetric.matching.matched import Matched, dimension, match_tables, select_rows
from flatmetric.matching.molecules import with_molecules
from flatmetric.matching.protocol import Protocol
from flatmetric.metrics.base import NO_TRUTH, Reasons, Settings, evaluate
from flatmetric.metrics.bound import BoundScore, Imaging
from flatmetric.metrics.calibration import Calibration
from flatmetric.metrics.flat import FlatScore
from flatmetric.metrics.gospa import Gospa, Ospa, check_order
from flatmetric.metrics.images import ImageScore, image_score
from flatmetric.metrics.jaccard_rmse import ChallengeScore
from flatmetric.metrics.linked import LinkedScore
from flatmetric.metrics.molecules import MoleculeScore, molecule_score
from flatmetric.metrics.rmsmd import Rmsmd, rmsmd_whole_set
from flatmetric.metrics.table import FAMILIES, METRICS
from flatmetric.quality.findings import Findings
from flatmetric.scoring.frame_sums import FrameSums, frame_sums
from flatmetric.scoring.intervals import Intervals
from flatmetric.scoring.linking import Link, linked_score
from flatmetric.scoring.masses import AxisScale, Weights, masses
from flatmetric.scoring.row_costs import RowCosts, row_costs
from flatmetric.transport.curve import FlatCurve, flat_curve
from flatmetric.transport.flat_metric import flat_metric
from flatmetric.transport.result import FlatResult
from flatmetric.version import __version__

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from flatmetric.scoring.advice import Advice


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreOptions:
    """The options of `score`, bundled; see `score` for their meaning."""

    lam: float = 125.0
    protocol: Protocol = field(default_factory=Protocol)
    weights: Weights = "uniform"
    axis_scale: AxisScale = None
    alpha_xy: float = 1.0
    alpha_z: float = 0.5
    gospa_p: float = 1.0
    gospa_c: float | None = None
    bound: Imaging | None = None
    link: Link | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.protocol, Protocol):
            raise InputError(
                f"protocol is {self.protocol!r:.60}; give a Protocol, e.g. Protocol.preset('challenge2016')"
            )
        for name in ("lam", "alpha_xy", "alpha_z", "gospa_p", "gospa_c"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if name == "gospa_c" and value is None else _finite(value, name))
        if not self.lam > 0:
            raise InputError(f"lam is {self.lam:g}; give a positive length in nm")
        check_order(self.gospa_p, self.cutoff)
        if self.weights not in ("uniform", "photons"):
            raise InputError(f"weights is {self.weights!r}; give uniform or photons")
        for name, kind in (("bound", Imaging), ("link", Link)):
            value = getattr(self, name)
            if value is not None and not isinstance(value, kind):
                raise InputError(f"{name} is {value!r:.60}; give {kind.__name__}(...)")
        if self.axis_scale is not None:
            try:
                scale = tuple(float(factor) for factor in np.atleast_1d(self.axis_scale))
            except (TypeError, ValueError) as error:
                raise InputError(f"axis_scale: {error}") from error
            object.__setattr__(self, "axis_scale", scale)

    @property
    def cutoff(self) -> float:
        """The cutoff of GOSPA and OSPA, nm."""
        return 2 * self.lam if self.gospa_c is None else self.gospa_c

    def keywords(self) -> dict[str, Any]:
        """The options as keyword arguments of `score`."""
        return plain_values(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values that differ whenever scores could, including the content of the wobble table.

        Examples
        --------
        >>> ScoreOptions().to_dict()["wobble"] is None
        True
        """
        wobble = self.protocol.wobble
        table = None if wobble is None else [wobble.dx.tolist(), wobble.dy.tolist(), wobble.z.tolist()]
        records = {"bound": self.bound, "link": self.link}
        more = {name: None if given is None else plain_values(given) for name, given in records.items()}
        return self.keywords() | {"protocol": self.protocol.to_dict(), "wobble": table} | more


SCHEMA = "https://flatmetric.org/schema/score-1.json"


@dataclass(frozen=True, eq=False, repr=False)
class Score(Shown):
    """Every metric of one result; None where undefined, with the reason in `undefined()`. Lengths in nm.

    `findings` are what looks wrong with the files as a whole, `intervals` the confidence intervals if they were asked
    for. Assumptions about the files are in `matched.truth.provenance` and `matched.pred.provenance`.

    Examples
    --------
    >>> t = Localizations(frame=[1, 1], x=[0.0, 900.0], y=[0.0, 0.0])
    >>> p = Localizations(frame=[1], x=[3.0], y=[4.0])
    >>> s = score(t, p, lam=125)
    >>> s.flat_metric.value, s.challenge.jaccard
    (65.0, 50.0)
    """

    lam: float
    dim: int
    weights: Weights
    axis_scale: AxisScale
    protocol: Protocol
    flat_metric: FlatScore
    challenge: ChallengeScore
    molecules: MoleculeScore
    rmsmd: Rmsmd
    gospa: Gospa
    ospa: Ospa
    calibration: Calibration
    bound: BoundScore | None
    linked: LinkedScore | None
    images: ImageScore | None
    reasons: Reasons
    matched: Matched
    sums: FrameSums
    flat_result: FlatResult | None
    findings: Findings = field(default_factory=Findings)
    intervals: Intervals | None = None
    name: str = "result"
    _curves: dict[float, FlatCurve] = field(default_factory=dict)

    def __repr__(self) -> str:
        flat, jaccard = self.flat_metric.value, self.challenge.jaccard
        shown = "undefined" if flat is None else f"{flat:.4g} nm"
        shown_jaccard = "undefined" if jaccard is None else f"{jaccard:.4g} %"
        return f"Score(Flat Metric {shown} at lam {self.lam:g} nm, Jaccard {shown_jaccard}, {self.dim}D)"

    def plot(self, frame: int | None = None) -> Figure:
        """Where the Flat Metric comes from, and the field with what was missed and what is false; or one frame with its
        transport plan. Lengths in nm.

        Examples
        --------
        >>> t = Localizations(frame=[1, 1], x=[0.0, 900.0], y=[0.0, 0.0])
        >>> score(t, t.select([True, False])).plot(frame=1).axes[0].get_title()
        'frame 1: 2 true, 1 found, 62.5 nm per molecule'
        """
        figure: Figure = look_of(self).plot(self) if frame is None else look_of(self).plot_frame(self, frame)
        return figure

    def per_frame(self) -> pd.DataFrame:
        """A row for each frame: counts, and what it adds to the Flat Metric, nm.

        Examples
        --------
        >>> t = Localizations(frame=[1, 2], x=[0.0, 0.0], y=[0.0, 0.0])
        >>> score(t, t.select([True, False]), lam=125).per_frame()["missed_nm"].tolist()
        [0.0, 62.5]
        """
        from flatmetric.scoring.breakdown import per_frame

        return _frame(per_frame(self))

    def per_molecule(self) -> pd.DataFrame:
        """A row for each molecule and each detection: its partner, what it costs (nm) and why.

        Examples
        --------
        >>> t = Localizations(frame=[1, 2], x=[0.0, 0.0], y=[0.0, 0.0])
        >>> score(t, t.select([True, False]), lam=125).per_molecule()["part"].tolist()
        ['displaced', 'missed', 'moved']
        """
        from flatmetric.scoring.breakdown import per_molecule

        return _frame(per_molecule(self))

    def by(self, quantity: str, bins: int = 10) -> pd.DataFrame:
        """Scores in bins of z (nm), photons, density, neighbour (nm) or frame, a row for each bin.

        Examples
        --------
        >>> t = Localizations(frame=[1, 2], x=[0.0, 0.0], y=[0.0, 0.0])
        >>> score(t, t.select([True, False]), lam=125).by("frame", bins=2)["flat_metric"].tolist()
        [0.0, 125.0]
        """
        from flatmetric.scoring.breakdown import score_in_bins

        rows = [one.to_dict() for one in score_in_bins(self, quantity, bins)]  # type: ignore[arg-type]
        return _frame([{**row.pop("challenge"), **row} for row in rows])

    def to_pandas(self) -> pd.DataFrame:
        """A row for each metric: title, value, unit, interval if there is one, and why it is undefined if it is.

        Examples
        --------
        >>> t = Localizations(frame=[1], x=[0.0], y=[0.0])
        >>> float(score(t, t).to_pandas().loc["challenge.jaccard", "value"])
        100.0
        """
        rows, undefined = [], self.undefined()
        spans = {} if self.intervals is None else self.intervals.intervals
        for key, one in METRICS.items():
            if getattr(self, key.split(".")[0]) is not None:
                low, high = spans.get(key) or (None, None)
                rows.append((key, one.title, self.get(key), one.unit, low, high, undefined.get(key, "")))
        names = ["key", "metric", "value", "unit", "low", "high", "undefined"]
        return _frame([dict(zip(names, row, strict=True)) for row in rows]).set_index("key")

    @cached_property
    def costs(self) -> RowCosts:
        """What every molecule and every detection adds to the Flat Metric."""
        return row_costs(self.matched, self.flat_result, self.weights)

    @cached_property
    def advice(self) -> tuple[Advice, ...]:
        """What to do next: at most five sentences, each with what it would take off the Flat Metric, nm.

        Examples
        --------
        >>> frames = list(range(1, 41))
        >>> t = Localizations(frame=frames, x=[0.0] * 40, y=[float(k) for k in frames])
        >>> p = Localizations(frame=frames, x=[30.0] * 40, y=[float(k) for k in frames])
        >>> print(score(t, p).advice[0])
        Subtract the bias of x +30.0 nm. This would gain 30.0 nm.
        """
        from flatmetric.scoring.advice import advice_for

        return advice_for(self)

    def get(self, key: str) -> float | None:
        """The value of a metric by its key in the JSON; None where it is undefined or was not asked for.

        Examples
        --------
        >>> t = Localizations(frame=[1], x=[0.0], y=[0.0])
        >>> score(t, t).get("challenge.jaccard")
        100.0
        """
        part, name = key.split(".")
        value: float | None = getattr(getattr(self, part), name, None)
        return value

    def undefined(self) -> Reasons:
        """Why values are None, by their key in the JSON.

        Examples
        --------
        >>> t = Localizations(frame=[1], x=[0.0], y=[0.0])
        >>> score(t, t).undefined()["challenge.rmse_z"]
        'scored in 2D'
        """
        return dict(self.reasons)

    def assumptions(self) -> list[str]:
        """What the files did not say, and what was taken instead; a sentence for each file.

        Examples
        --------
        >>> t = Localizations(frame=[1], x=[0.0], y=[0.0])
        >>> score(t, t).assumptions()
        []
        """
        truth, pred = self.matched.truth.provenance, self.matched.pred.provenance
        flat = []
        depths = self.matched.truth.z
        if self.dim == 2 and self.protocol.dim is None and depths is not None and depths.any():
            flat = [f"scored in 2D, as {pred.file or 'the result'} has no depths (otherwise give dim=3)"]
        return [*truth.assumed("truth_"), *pred.assumed(), *self.matched.assumptions, *flat]

    def curve(self, lam_max: float) -> FlatCurve:
        """The Flat Metric of the rows that count for every lam up to `lam_max`, nm; computed once.

        Examples
        --------
        >>> t = Localizations(frame=[1], x=[0.0], y=[0.0])
        >>> float(score(t, Localizations(frame=[1], x=[30.0], y=[40.0])).curve(250)(10))
        20.0
        """
        truth, pred, threads = self.matched.kept_truth, self.matched.kept_pred, self.matched.threads
        if len(truth) == 0:
            raise InputError(f"{NO_TRUTH.text}, so there is no curve")
        if lam_max not in self._curves:
            self._curves[lam_max] = flat_curve(
                truth.points(self.dim, threads),
                pred.points(self.dim, threads),
                lam_max=lam_max,
                truth_frames=truth.frame,
                pred_frames=pred.frame,
                axis_scale=self.axis_scale,
                threads=threads,
                **masses(truth, pred, self.weights),
            )
        return self._curves[lam_max]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, None where undefined: the JSON of `flatmetric score`.

        Examples
        --------
        >>> t = Localizations(frame=[1], x=[0.0], y=[0.0])
        >>> score(t, t).to_dict()["flat_metric"]["value"]
        0.0
        """
        parts = {part: plain_values(getattr(self, part)) for part in FAMILIES if getattr(self, part) is not None}
        settings = self.sums.total.settings
        parts["challenge"] |= {
            "photon_threshold": self.matched.photon_threshold,
            "alpha_xy": settings.alpha_xy,
            "alpha_z": settings.alpha_z,
        }
        return {
            "schema": SCHEMA,
            "version": __version__,
            "inputs": {"truth": _input(self.matched.truth), "pred": _input(self.matched.pred)},
            "lam_nm": self.lam,
            "dim": self.dim,
            "weights": self.weights,
            "axis_scale": None if self.axis_scale is None else list(self.axis_scale),
            "protocol": self.protocol.to_dict(),
            "compared": {"truth": len(self.matched.truth_kept), "pred": len(self.matched.pred_kept)},
            **parts,
            "undefined": self.undefined(),
            "assumptions": self.assumptions(),
            "findings": [finding.to_dict() for finding in self.findings],
            "advice": [one.to_dict() for one in self.advice],
            "warnings": [str(finding) for finding in self.findings],
        }


def _frame(rows: Any) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(rows)


def plain_values(result: Any) -> dict[str, Any]:
    """The fields of a family's result as plain values.

    Examples
    --------
    >>> from flatmetric.metrics.gospa import Ospa
    >>> plain_values(Ospa(127.5, 1.0, 250.0, None))
    {'value': 127.5, 'p': 1.0, 'c': 250.0, 'frame_mean': None}
    """
    return {name: getattr(result, name) for name in result.__slots__}


def _input(table: Localizations) -> dict[str, Any]:
    source = table.provenance
    return {
        "name": source.file,
        "sha256": source.sha256,
        "format": source.format,
        "rows": len(table),
        "frames": [int(table.frame.min()), int(table.frame.max())] if len(table) else None,
        "conversions": list(source.conversions),
        "dropped": dict(source.dropped),
    }


def score(
    truth: Any,
    pred: Any,
    *,
    lam: float = 125.0,
    protocol: Protocol | None = None,
    weights: Weights = "uniform",
    axis_scale: npt.ArrayLike | None = None,
    alpha_xy: float = 1.0,
    alpha_z: float = 0.5,
    gospa_p: float = 1.0,
    gospa_c: float | None = None,
    bound: Imaging | None = None,
    link: Link | None = None,
    images: bool = False,
    threads: int | None = None,
) -> Score:
    """Score one table against another: Flat Metric, challenge metrics, RMSMD, GOSPA, OSPA; nothing is checked.

    Parameters
    ----------
    truth, pred
        `Localizations`, or tables and dicts that `Localizations.from_table` takes; nm, frames from 1.
    lam
        Cost in nm of a missed molecule or a false detection in the Flat Metric; nothing is moved further than 2 lam.
    protocol
        The rules: dimension, tolerances, matching, border, photon threshold. Default: `Protocol()`.
    weights
        "uniform": each molecule weighs 1/n, n the number of true ones; "photons": its share of the true photons.
    axis_scale
        Factor for each coordinate in the Flat Metric, e.g. (1, 1, 0.5).
    alpha_xy, alpha_z
        Weights of the errors in the efficiency, 1/nm.
    gospa_p, gospa_c
        Order and cutoff (nm) of GOSPA and OSPA; the cutoff is 2 lam by default, for which GOSPA of order 1 divided by
        the number of true molecules equals the Flat Metric.
    bound
        How molecules were imaged: also compare the RMSE with the Cramer-Rao bound. Needs true photons.
    link
        Also link detections over frames into molecules, and compare these. Needs true ids.
    images
        Also compare rendered images: SNR and Fourier ring correlation. Needs the field of view in the protocol.
    threads
        All cores by default; the result is bit-identical for any number.

    Notes
    -----
    The order is that of the challenge: wobble, border, matching, threshold, don't-care rule. True molecules at or below
    the threshold, and detections matched to them, are removed; all metrics are computed on what remains.

    Examples
    --------
    >>> truth = {"frame": [1, 1, 2], "x": [100.0, 900.0, 500.0], "y": [100.0, 100.0, 500.0]}
    >>> pred = {"frame": [1, 2], "x": [103.0, 500.0], "y": [104.0, 500.0]}
    >>> s = score(truth, pred, lam=120)
    >>> round(s.flat_metric.value, 3), s.challenge.tp, s.challenge.fn
    (41.667, 2, 1)
    """
    options = ScoreOptions(
        lam=lam,
        protocol=Protocol() if protocol is None else protocol,
        weights=weights,
        axis_scale=axis_scale,  # type: ignore[arg-type]
        alpha_xy=alpha_xy,
        alpha_z=alpha_z,
        gospa_p=gospa_p,
        gospa_c=gospa_c,
        bound=bound,
        link=link,
    )
    protocol, scale = options.protocol, options.axis_scale
    truth_table, pred_table = with_molecules(_table(truth, "truth")), _table(pred, "pred")
    if len(truth_table) == 0:
        raise InputError(f"{truth_table.provenance.file or 'truth'}: the truth has no row; give the true molecules")
    if images and protocol.fov is None:
        raise InputError("the images need the size of the field; give fov= in nm")
    try:
        workers = thread_count(threads)
    except TypeError as error:
        raise InputError(str(error)) from error
    dim = dimension(truth_table, pred_table, protocol)
    matched = match_tables(truth_table, pred_table, protocol, dim, workers)
    flat = _flat_metric(matched, options.lam, weights, scale)
    photons_known = matched.truth.photons is not None and matched.pred.photons is not None
    settings = Settings(dim, options.alpha_xy, options.alpha_z, options.gospa_p, options.cutoff, photons_known)
    sums = frame_sums(matched, flat, weights, scale, settings, bound)
    kept = matched.kept_truth, matched.kept_pred
    results = {
        "flat_metric": evaluate(FlatScore, sums.total),
        "challenge": evaluate(ChallengeScore, sums.total),
        "molecules": molecule_score(matched.molecule, matched.counted_in_kept, matched.errors, dim=dim),
        "rmsmd": evaluate(Rmsmd, sums.total, rmsmd_whole_set(*kept, dim=dim, threads=workers)),
        "gospa": evaluate(Gospa, sums.total),
        "ospa": evaluate(Ospa, sums.total),
        "calibration": evaluate(Calibration, sums.total),
    }
    if bound is not None:
        results["bound"] = evaluate(BoundScore, sums.total)
    if link is not None:
        results["linked"] = linked_score(matched, link, options.lam)
    if images and protocol.fov is not None:
        # As in the challenge: within the border, but without the photon threshold.
        tables = select_rows(matched.truth, matched.truth_rows), select_rows(matched.pred, matched.pred_rows)
        results["images"] = evaluate(ImageScore, sums.total, image_score(*tables, fov=protocol.fov, dim=dim))
    parts: dict[str, Any] = {part: result for part, (result, _) in results.items()}
    return Score(
        lam=options.lam,
        dim=dim,
        weights=weights,
        axis_scale=scale,
        protocol=protocol,
        **({"bound": None, "linked": None, "images": None} | parts),
        reasons={f"{part}.{name}": why for part, (_, reasons) in results.items() for name, why in reasons.items()},
        matched=matched,
        sums=sums,
        flat_result=flat,
    )


def _table(value: Any, name: str) -> Localizations:
    try:
        return value if isinstance(value, Localizations) else Localizations.from_table(value)
    except InputError as error:
        raise InputError(f"{name}: {error}") from error


def _finite(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not math.isfinite(value):
        raise InputError(f"{name} is {value!r}; give a finite number")
    return float(value)


def _flat_metric(matched: Matched, lam: float, weights: Weights, scale: AxisScale) -> FlatResult | None:
    truth, pred, threads = matched.kept_truth, matched.kept_pred, matched.threads
    if len(truth) == 0:
        return None
    try:
        return flat_metric(
            truth.points(matched.dim, threads),
            pred.points(matched.dim, threads),
            lam=lam,
            truth_frames=truth.frame,
            pred_frames=pred.frame,
            axis_scale=scale,
            threads=threads,
            **masses(truth, pred, weights),
        )
    except (TypeError, ValueError) as error:
        raise InputError(str(error)) from error
