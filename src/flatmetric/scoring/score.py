"""`score`: every metric of a result against the truth, by one protocol."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from flatmetric._shown import look_of
from flatmetric._validation import thread_count
from flatmetric.errors import InputError
from flatmetric.localizations import Localizations
from flatmetric.matching.matched import Matched, dimension, match_tables, select_rows
from flatmetric.matching.molecules import with_molecules
from flatmetric.matching.protocol import Protocol
from flatmetric.metrics.base import NO_TRUTH, Measure, Reasons, Settings, Sums, evaluate
from flatmetric.metrics.bound import BoundScore, Imaging
from flatmetric.metrics.calibration import Calibration
from flatmetric.metrics.flat import FlatScore
from flatmetric.metrics.gospa import Gospa, Ospa, check_order
from flatmetric.metrics.images import ImageScore, image_score
from flatmetric.metrics.jaccard_rmse import ChallengeScore
from flatmetric.metrics.molecules import molecule_score
from flatmetric.metrics.rmsmd import Rmsmd, rmsmd_whole_set
from flatmetric.scoring.frame_sums import FrameSums, frame_sums
from flatmetric.scoring.linking import Link, linked_score
from flatmetric.scoring.masses import AxisScale, Weights, masses
from flatmetric.scoring.row_costs import RowCosts, row_costs
from flatmetric.scoring.scored import Basis, Input, Scored, plain_values
from flatmetric.transport.curve import FlatCurve, flat_curve
from flatmetric.transport.flat_metric import flat_metric
from flatmetric.transport.result import FlatResult

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

    def settings(self, dim: int, photons_known: bool) -> Settings:
        """What the formulas of the metrics need of it."""
        return Settings(dim, self.alpha_xy, self.alpha_z, self.gospa_p, self.cutoff, photons_known)

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


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Score(Scored):
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

    matched: Matched
    sums: FrameSums
    flat_result: FlatResult | None
    _curves: dict[float, FlatCurve] = field(default_factory=dict)

    @cached_property
    def basis(self) -> Basis:
        """What it was computed from."""
        matched = self.matched
        return Basis(
            Input.of(matched.truth),
            Input.of(matched.pred),
            len(matched.truth_kept),
            len(matched.pred_kept),
            matched.photon_threshold,
            matched.assumptions,
            self.sums.total.settings,
        )

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


def _frame(rows: Any) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(rows)


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
    truth_table.check_has_rows()
    if images and protocol.fov is None:
        raise InputError("the images need the size of the field; give fov= in nm")
    try:
        workers = thread_count(threads)
    except TypeError as error:
        raise InputError(str(error)) from error
    dim = dimension(truth_table, pred_table, protocol)
    matched = match_tables(truth_table, pred_table, protocol, dim, workers)
    flat = flat_metric_of(matched, options.lam, weights, scale)
    settings = options.settings(dim, matched.truth.photons is not None and matched.pred.photons is not None)
    sums = frame_sums(matched, flat, weights, scale, settings, bound)
    whole_set = rmsmd_whole_set(matched.kept_truth, matched.kept_pred, dim=dim, threads=workers)
    results = results_of(sums.total, whole_set, bound is not None)
    results["molecules"] = molecule_score(matched.molecule, matched.counted_in_kept, matched.errors, dim=dim)
    if link is not None:
        results["linked"] = linked_score(matched, link, options.lam)
    if images and protocol.fov is not None:
        # As in the challenge: within the border, but without the photon threshold.
        tables = select_rows(matched.truth, matched.truth_rows), select_rows(matched.pred, matched.pred_rows)
        results["images"] = evaluate(ImageScore, sums.total, image_score(*tables, fov=protocol.fov, dim=dim))
    return Score(
        lam=options.lam,
        dim=dim,
        weights=weights,
        axis_scale=scale,
        protocol=protocol,
        **parts_and_reasons(results),
        matched=matched,
        sums=sums,
        flat_result=flat,
    )


Results = dict[str, tuple[Any, Reasons]]
"""The result of each family, and why fields of it are undefined."""


def results_of(sums: Sums, whole_set: Mapping[str, Measure], bounded: bool) -> Results:
    """The families that sums over frames give, and RMSMD of the whole set, which is given."""
    families = {"flat_metric": FlatScore, "challenge": ChallengeScore, "gospa": Gospa, "ospa": Ospa}
    families |= {"calibration": Calibration} | ({"bound": BoundScore} if bounded else {})
    results: Results = {part: evaluate(family, sums) for part, family in families.items()}
    return results | {"rmsmd": evaluate(Rmsmd, sums, whole_set)}


def parts_and_reasons(results: Results) -> dict[str, Any]:
    """The results as the fields of a score."""
    reasons = {f"{part}.{name}": why for part, (_, of_part) in results.items() for name, why in of_part.items()}
    return {part: result for part, (result, _) in results.items()} | {"reasons": reasons}


def _table(value: Any, name: str) -> Localizations:
    try:
        return value if isinstance(value, Localizations) else Localizations.from_table(value)
    except InputError as error:
        raise InputError(f"{name}: {error}") from error


def _finite(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not math.isfinite(value):
        raise InputError(f"{name} is {value!r}; give a finite number")
    return float(value)


def flat_metric_of(matched: Matched, lam: float, weights: Weights, scale: AxisScale) -> FlatResult | None:
    """The Flat Metric of the rows that count; None without a true one."""
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
