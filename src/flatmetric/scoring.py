"""`score`: every metric of a result against the truth, by one set of rules."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from flatmetric import arguments
from flatmetric.comparison import Compared, compare, counted_matches, dimension, rows_of
from flatmetric.curve import FlatCurve, flat_curve
from flatmetric.errors import InputError
from flatmetric.localizations import Localizations
from flatmetric.metrics.challenge import ChallengeScore, Counts, challenge_score, errors_of
from flatmetric.metrics.gospa import FramePairs, Gospa, Ospa, assign, frame_pairs, gospa_and_ospa, refuse_order
from flatmetric.metrics.images import ImageScore, image_score
from flatmetric.metrics.matching import Matches
from flatmetric.metrics.molecules import MoleculeScore, molecule_numbers, molecule_score, undefined_molecules
from flatmetric.metrics.rmsmd import Rmsmd, rmsmd
from flatmetric.metrics.value import Undefined, Value, plain, reasons
from flatmetric.protocol import Protocol
from flatmetric.result import FlatResult, IntArray
from flatmetric.transport import flat_metric
from flatmetric.version import __version__

Weights = Literal["uniform", "photons"]
SCHEMA = "https://flatmetric.org/schema/score-1.json"
_NO_TRUTH = "no true molecule is left to compare with"


@dataclass(frozen=True, slots=True)
class FlatScore:
    """The Flat Metric pooled over all frames, nm per true molecule, its parts, its proof, and the mean over frames.

    `frame_mean` is the mean of each frame's own Flat Metric over the frames that have a true molecule;
    `frames_without_truth` had only detections.
    """

    value: Value
    displaced: Value
    missed: Value
    false: Value
    lower_bound: Value
    gap: Value
    frame_mean: Value
    frames_without_truth: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Score:
    """Every metric of one result. Undefined values carry their reason; `to_dict` is the JSON of the command.

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
    axis_scale: tuple[float, ...] | None
    protocol: Protocol
    flat_metric: FlatScore
    challenge: ChallengeScore
    molecules: MoleculeScore
    rmsmd: Rmsmd
    gospa: Gospa
    ospa: Ospa
    images: ImageScore | None
    alpha: tuple[float, float]
    warnings: tuple[str, ...]
    compared: Compared
    flat_result: FlatResult | None
    gospa_pairs: FramePairs

    def __repr__(self) -> str:
        flat, jaccard = self.flat_metric.value, self.challenge.jaccard
        shown = "undefined" if isinstance(flat, Undefined) else f"{flat:.4g} nm"
        found = "undefined" if isinstance(jaccard, Undefined) else f"{jaccard:.4g} %"
        return f"Score(Flat Metric {shown} at lam {self.lam:g} nm, Jaccard {found}, {self.dim}D)"

    def parts(self) -> dict[str, Any]:
        """The metrics' results by the names they have in the JSON.

        Examples
        --------
        >>> t = Localizations(frame=[1], x=[0.0], y=[0.0])
        >>> list(score(t, t).parts())
        ['flat_metric', 'challenge', 'molecules', 'rmsmd', 'gospa', 'ospa']
        """
        names = ("flat_metric", "challenge", "molecules", "rmsmd", "gospa", "ospa")
        found = {name: getattr(self, name) for name in names}
        return found if self.images is None else found | {"images": self.images}

    def undefined(self) -> dict[str, str]:
        """Why values are undefined, by metric and field.

        Examples
        --------
        >>> t = Localizations(frame=[1], x=[0.0], y=[0.0])
        >>> score(t, t).undefined()["challenge.rmse_z"]
        'scored in 2D'
        """
        return {
            f"{name}.{field}": reason
            for name, result in self.parts().items()
            for field, reason in reasons(result).items()
        }

    def curve(self, lam_max: float) -> FlatCurve:
        """The Flat Metric of what was compared for every lam up to `lam_max`, nm.

        Examples
        --------
        >>> t = Localizations(frame=[1], x=[0.0], y=[0.0])
        >>> float(score(t, Localizations(frame=[1], x=[30.0], y=[40.0])).curve(250)(10))
        20.0
        """
        truth = rows_of(self.compared.truth, self.compared.truth_counts)
        pred = rows_of(self.compared.pred, self.compared.pred_counts)
        if len(truth) == 0:
            raise InputError(f"{_NO_TRUTH}, so there is no curve")
        return flat_curve(
            truth.points(self.dim),
            pred.points(self.dim),
            lam_max=lam_max,
            truth_frames=truth.frame,
            pred_frames=pred.frame,
            axis_scale=self.axis_scale,
            **masses(truth, pred, self.weights),
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, None where undefined: the JSON of `flatmetric score`.

        Examples
        --------
        >>> t = Localizations(frame=[1], x=[0.0], y=[0.0])
        >>> score(t, t).to_dict()["flat_metric"]["value"]
        0.0
        """
        parts = {name: plain(result) for name, result in self.parts().items()}
        parts["challenge"] |= {
            "photon_threshold": self.compared.photon_threshold,
            "alpha_xy": self.alpha[0],
            "alpha_z": self.alpha[1],
        }
        return {
            "schema": SCHEMA,
            "version": __version__,
            "inputs": {"truth": _input(self.compared.truth), "pred": _input(self.compared.pred)},
            "lam_nm": self.lam,
            "dim": self.dim,
            "weights": self.weights,
            "axis_scale": None if self.axis_scale is None else list(self.axis_scale),
            "protocol": self.protocol.described(),
            "compared": {"truth": len(self.compared.truth_counts), "pred": len(self.compared.pred_counts)},
            **parts,
            "undefined": self.undefined(),
            "warnings": list(self.warnings),
        }


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
    images: bool = False,
    threads: int | None = None,
) -> Score:
    """Score a result against the truth: Flat Metric, challenge metrics, RMSMD, GOSPA, OSPA.

    Parameters
    ----------
    truth, pred
        `Localizations`, or tables and dicts that `Localizations.from_table` takes; nm, frames from 1.
    lam
        The Flat Metric's cost in nm of a missed or false molecule; nothing is carried further than 2 lam.
    protocol
        The rules: dimension, tolerances, matching, border, photon threshold. Default: `Protocol()`.
    weights
        "uniform": every molecule weighs 1/n of the n true ones; "photons": by its share of the true photons.
    axis_scale
        Factor for each coordinate in the Flat Metric, e.g. (1, 1, 0.5).
    alpha_xy, alpha_z
        Weights of the errors in the efficiency, 1/nm.
    gospa_p, gospa_c
        Order and cutoff (nm) of GOSPA and OSPA; the cutoff is 2 lam by default, where GOSPA of order 1 over the number
        of true molecules is the Flat Metric.
    images
        Also compare rendered images: SNR and Fourier ring correlation. Needs the field of view in the protocol.
    threads
        All cores by default; it never changes a bit.

    Notes
    -----
    The order is that of the challenge: wobble, border, matching, threshold, don't-care rule. True molecules at or below
    the threshold, and detections matched to them, are taken out of both sets; every other metric, the Flat Metric too,
    is then taken between what is left. It stays a metric: that of two measures, of which the rule only says which.

    Examples
    --------
    >>> import flatmetric as fm
    >>> truth = {"frame": [1, 1, 2], "x": [100.0, 900.0, 500.0], "y": [100.0, 100.0, 500.0]}
    >>> pred = {"frame": [1, 2], "x": [103.0, 500.0], "y": [104.0, 500.0]}
    >>> s = fm.score(truth, pred, lam=120)
    >>> round(s.flat_metric.value, 3), s.challenge.tp, s.challenge.fn
    (41.667, 2, 1)
    """
    rules = Protocol() if protocol is None else protocol
    if not isinstance(rules, Protocol):
        raise InputError(f"protocol is {rules!r:.60}; give a Protocol, as Protocol.preset('challenge2016')")
    truth_table, pred_table = _table(truth, "truth"), _table(pred, "pred")
    if len(truth_table) == 0:
        raise InputError(f"{truth_table.provenance.file or 'truth'}: the truth has no row; give the true molecules")
    lam = _finite(lam, "lam")
    if not lam > 0:
        raise InputError(f"lam is {lam:g}; give a positive length in nm")
    alpha_xy, alpha_z = _finite(alpha_xy, "alpha_xy"), _finite(alpha_z, "alpha_z")
    order, cutoff = _finite(gospa_p, "gospa_p"), 2 * lam if gospa_c is None else _finite(gospa_c, "gospa_c")
    refuse_order(order, cutoff)
    if weights not in ("uniform", "photons"):
        raise InputError(f"weights is {weights!r}; give uniform or photons")
    if images and rules.fov is None:
        raise InputError("the images need the size of the field; give fov (--fov) in nm")
    try:
        thread_count = arguments.thread_count(threads)
        scale = None if axis_scale is None else tuple(float(f) for f in np.atleast_1d(axis_scale))
    except (TypeError, ValueError) as error:
        raise InputError(f"axis_scale or threads: {error}") from error
    dim = dimension(truth_table, pred_table, rules)
    said: list[str] = []
    compared = compare(truth_table, pred_table, rules, dim, thread_count, said)
    kept_truth = rows_of(compared.truth, compared.truth_counts)
    kept_pred = rows_of(compared.pred, compared.pred_counts)
    flat = None
    if len(kept_truth):
        flat = _flat_metric(kept_truth, kept_pred, lam, dim, weights, scale, thread_count)
    _warn_of_frames(compared, flat, said)
    counted = counted_matches(compared)
    errors = errors_of(compared.truth, compared.pred, counted.truth, counted.pred)
    tp = len(counted)
    challenge = challenge_score(
        Counts(tp, len(kept_pred) - tp, len(kept_truth) - tp),
        errors,
        (_taken(compared.truth.photons, counted.truth), _taken(compared.pred.photons, counted.pred)),
        dim=dim,
        alpha_xy=alpha_xy,
        alpha_z=alpha_z,
    )
    pairs = _gospa_pairs(kept_truth, kept_pred, flat, dim, order, cutoff, scale, weights, thread_count)
    gospa, ospa = gospa_and_ospa(pairs, p=order, c=cutoff)
    return Score(
        lam=lam,
        dim=dim,
        weights=weights,
        axis_scale=scale,
        protocol=rules,
        flat_metric=_flat_score(flat, kept_truth, weights),
        challenge=challenge,
        molecules=_molecules(kept_truth, compared.truth_counts, counted, errors, dim, len(compared.truth)),
        rmsmd=rmsmd(kept_truth, kept_pred, dim=dim, threads=thread_count),
        gospa=gospa,
        ospa=ospa,
        images=_images(compared, rules.fov, dim) if images and rules.fov is not None else None,
        alpha=(alpha_xy, alpha_z),
        warnings=tuple(said),
        compared=compared,
        flat_result=flat,
        gospa_pairs=pairs,
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


def _taken(column: Any, rows: IntArray) -> Any:
    return None if column is None else column[rows]


def _flat_metric(
    truth: Localizations,
    pred: Localizations,
    lam: float,
    dim: int,
    weights: Weights,
    scale: tuple[float, ...] | None,
    threads: int,
) -> FlatResult:
    try:
        return flat_metric(
            truth.points(dim),
            pred.points(dim),
            lam=lam,
            truth_frames=truth.frame,
            pred_frames=pred.frame,
            axis_scale=scale,
            threads=threads,
            **masses(truth, pred, weights),
        )
    except (TypeError, ValueError) as error:
        raise InputError(str(error)) from error


def masses(truth: Localizations, pred: Localizations, weights: Weights) -> dict[str, Any]:
    """The weights for `flat_metric`: none, or the photons as shares of all true ones.

    Examples
    --------
    >>> t = Localizations(frame=[1, 1], x=[0.0, 1.0], y=[0.0, 0.0], photons=[100, 300])
    >>> masses(t, t, "photons")["truth_weights"].tolist()
    [0.25, 0.75]
    """
    if weights == "uniform":
        return {}
    true, found = _photon_mass(truth, "truth"), _photon_mass(pred, "pred")
    if true.sum() <= 0:
        raise InputError("the true photons add up to 0; use uniform weights")
    return {"truth_weights": true / true.sum(), "pred_weights": found / true.sum()}


def _photon_mass(table: Localizations, side: str) -> Any:
    name = table.provenance.file or side
    if table.photons is None:
        raise InputError(f"{name}: it has no photons to weigh by; use uniform weights")
    if len(table) and table.photons.min() < 0:
        raise InputError(
            f"{name}: a row has {table.photons.min():g} photons, which can't be a weight; use uniform weights"
        )
    return table.photons


def _flat_score(flat: FlatResult | None, truth: Localizations, weights: Weights) -> FlatScore:
    if flat is None or flat.frames is None:
        nothing = Undefined(_NO_TRUTH)
        return FlatScore(nothing, nothing, nothing, nothing, nothing, nothing, nothing, 0)
    frames = flat.frames
    with_truth = frames.n_truth > 0
    # A frame's own metric is its contribution over its share of the true mass.
    share = frames.n_truth[with_truth] / len(truth)
    if weights == "photons":
        assert truth.photons is not None
        place = np.searchsorted(frames.frame, truth.frame)
        share = np.bincount(place, truth.photons, minlength=len(frames))[with_truth] / truth.photons.sum()
    heavy = share > 0
    mean: Value = Undefined("no frame has true mass")
    if heavy.any():
        mean = float(np.mean(frames.value[with_truth][heavy] / share[heavy]))
    return FlatScore(
        value=flat.value,
        displaced=flat.displaced,
        missed=flat.missed,
        false=flat.false,
        lower_bound=flat.lower_bound,
        gap=flat.gap,
        frame_mean=mean,
        frames_without_truth=int(np.count_nonzero(~with_truth)),
    )


def _molecules(
    kept: Localizations, rows: IntArray, counted: Matches, errors: Any, dim: int, all_rows: int
) -> MoleculeScore:
    molecules = molecule_numbers(kept)
    if molecules is None:
        return undefined_molecules("the truth has no ids")
    place = counted.truth
    if len(rows) != all_rows:
        where = np.full(all_rows, -1, dtype=np.int64)
        where[rows] = np.arange(len(rows))
        place = where[counted.truth]
    return molecule_score(molecules, place, errors, dim=dim)


def _gospa_pairs(
    truth: Localizations,
    pred: Localizations,
    flat: FlatResult | None,
    dim: int,
    p: float,
    c: float,
    scale: tuple[float, ...] | None,
    weights: Weights,
    threads: int,
) -> FramePairs:
    if flat is not None and flat.frames is not None:
        frames, n_truth, n_pred = flat.frames.frame, flat.frames.n_truth, flat.frames.n_pred
    else:
        frames = np.unique(np.concatenate((truth.frame, pred.frame)))
        n_truth = np.bincount(np.searchsorted(frames, truth.frame), minlength=len(frames))
        n_pred = np.bincount(np.searchsorted(frames, pred.frame), minlength=len(frames))
    # Of order 1 with the cutoff 2 lam it is the Flat Metric's own plan, where each true molecule weighs 1 / len(truth).
    own_plan = p == 1 and flat is not None and c == 2 * flat.lam and scale is None and weights == "uniform"
    if own_plan and flat is not None and flat.frames is not None:
        left = np.rint(flat.frames.missed * len(truth) / flat.lam).astype(np.int64)
        return FramePairs(n_truth, n_pred, n_truth - left, flat.frames.displaced * len(truth))
    pairs = assign(truth, pred, dim=dim, p=p, c=c, threads=threads)
    return frame_pairs(n_truth, n_pred, np.searchsorted(frames, truth.frame[pairs.truth]), pairs.distance, p=p)


def _images(compared: Compared, fov: tuple[float, float], dim: int) -> ImageScore:
    # As in the challenge: within the border, but without the photon rule.
    truth, pred = rows_of(compared.truth, compared.truth_rows), rows_of(compared.pred, compared.pred_rows)
    return image_score(truth, pred, fov=fov, dim=dim)


def _warn_of_frames(compared: Compared, flat: FlatResult | None, said: list[str]) -> None:
    if flat is None or flat.frames is None or len(compared.pred_counts) == 0:
        return
    frames = flat.frames
    if not ((frames.n_truth > 0) & (frames.n_pred > 0)).any():
        true, found = compared.truth.frame, compared.pred.frame
        said.append(
            f"no frame has both molecules and detections: the truth has frames {true.min()} to {true.max()}, "
            f"the result {found.min()} to {found.max()}; probably one counts its frames differently (--frame-base)"
        )
    for table, side in ((compared.truth, "truth"), (compared.pred, "result")):
        if len(table) and table.frame.min() < 1:
            said.append(
                f"the {side} has frames below 1, which are never matched; perhaps it counts from 0 (--frame-base)"
            )
