"""What may be wrong with a result as a whole: each kind of finding, its words, and how it is fixed."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np

from flatmetric._arrays import BoolArray
from flatmetric._dataclass import dataclass
from flatmetric._display import Displayed
from flatmetric.formats.read import read_table
from flatmetric.localizations import Localizations, Provenance
from flatmetric.matching.matcher import neighbours
from flatmetric.options.reading import ReadOptions
from flatmetric.options.scoring import DEFAULT_LAM

Severity = Literal["wrong", "worth fixing", "note"]
"""How much a finding matters, most first."""
_WORTH = 0.1  # of the Flat Metric, or of the frames: a fix that gains less is only noted
_FAR_DEPTH = 0.15  # of a scale of depths: refractive indices differ by less
_FAR_NM = 50.0  # half a pixel of common cameras: a convention, and no bias of a fit
_FAR_SHARE = 0.01  # of a length, or radians: pixel sizes and axes are known better than that
_MEASURED = 5e-4  # of a scale: how precisely it can be measured
BY_HAND = "check(truth, pred).apply(pred)"
"""How a fix is made that no option can make."""


@dataclass(frozen=True, slots=True)
class FindingType:
    """One kind of finding: what it looks like in `words`, and how it is fixed.

    Either `change` fixes the rows of a table, given the estimate; or `step` describes what to do; or a change of the
    rules of the score does (`by_rules`). `gross` marks errors of frames, axes and unit, after which no number describes
    the program. `is_limit` marks a limit of the program, which is not an error of the file, and `harmless` what does
    not make advice on the program misleading. `far` says of an estimate whether it is beyond what any program does to
    positions, whatever the gain. `truth` is the part of the truth to look at where all results have it, `unmeasured`
    are words for those who must not learn about the truth.
    """

    words: Callable[[Any], str]
    change: Callable[[Localizations, Any], dict[str, Any]] | None = None
    step: str | None = None
    by_rules: bool = False
    gross: bool = False
    is_limit: bool = False
    harmless: bool = False
    far: Callable[[Any], bool] = lambda _: False
    truth: str = ""
    unmeasured: str = ""


def _field_words(estimate: Any) -> str:
    field, reached = estimate["fov"], estimate["extent"]
    rules = f"the rules take a field of {field[0]:g} x {field[1]:g} nm"
    return f"{rules}, but the truth reaches to {reached[0]:.0f} x {reached[1]:.0f} nm"


def _no_overlap_words(estimate: Any) -> str:
    truth, pred = estimate["truth"], estimate["pred"]
    frames = f"the truth has frames {truth[0]} to {truth[1]}, the result {pred[0]} to {pred[1]}"
    return f"no frame has both molecules and detections: {frames}"


def by_words(estimate: Any) -> str:
    """The lengths of a shift."""
    deep = f", z {estimate['z']:+.1f}" if estimate["z"] else ""
    return f"x {estimate['x']:+.1f}, y {estimate['y']:+.1f}{deep} nm"


def _shift_words(estimate: Any) -> str:
    return f"everything is shifted by {by_words(estimate)}, the most frequent displacement"  # the bias is the mean


def _border_words(estimate: Any) -> str:
    share, width = 100 * estimate["share_of_missed"], estimate["border"]
    return f"{share:.0f} % of the missed molecules lie within {width:g} nm of the edge"


def _missing_words(estimate: Any) -> str:
    step, share = estimate.get("step"), f"{100 * estimate['share']:.0f} % of the molecules"
    if step is None:
        return f"no detection in frames {estimate['first']} to {estimate['last']}, which have {share}"
    if estimate["there"] == 1:
        return f"detections in every {_ordinal(step)} frame only: the others have {share}"
    return f"no detection in {step - estimate['there']} of every {step} frames, which have {share}"


def _ordinal(number: int) -> str:
    return f"{number}{'nd' if number == 2 else 'rd' if number == 3 else 'th'}"


def _region_words(estimate: Any) -> str:
    place = ", ".join(f"{axis} {estimate[axis][0]:.0f} to {estimate[axis][1]:.0f}" for axis in "xy")
    share = 100 * estimate["share"]
    return f"next to no detection in a part of the field ({place} nm) with {share:.0f} % of the molecules"


def _depth_words(estimate: Any) -> str:
    low, high = estimate["found"]
    share = 100 * estimate["share"]
    return f"next to no detection below {low} or above {high} nm of depth, where {share:.0f} % of the molecules are"


def _shifted_back(pred: Localizations, estimate: Any) -> dict[str, Any]:
    change = {axis: getattr(pred, axis) - estimate[axis] for axis in "xy"}
    return change if pred.z is None else change | {"z": pred.z - estimate["z"]}


def _turned_back(pred: Localizations, estimate: Any) -> dict[str, Any]:
    cos, sin = math.cos(math.radians(estimate["degrees"])), math.sin(math.radians(estimate["degrees"]))
    x, y = pred.x - estimate["x"], pred.y - estimate["y"]
    return {"x": estimate["x"] + cos * x + sin * y, "y": estimate["y"] - sin * x + cos * y}


def _without_drift(pred: Localizations, estimate: Any) -> dict[str, Any]:
    first, last = estimate["frames"]
    time = (pred.frame - first) / max(1, last - first) - estimate["origin"]
    return {axis: getattr(pred, axis) - estimate[axis] * time for axis in "xy"}


def _wandered(estimate: Any) -> float:
    """The largest distance between two places of a path, nm."""
    path = np.column_stack((estimate["x"], estimate["y"]))
    return float(np.hypot(*(path[:, None] - path[None]).transpose(2, 0, 1)).max())


def _without_path(pred: Localizations, estimate: Any) -> dict[str, Any]:
    return {axis: getattr(pred, axis) - np.interp(pred.frame, estimate["frames"], estimate[axis]) for axis in "xy"}


def _shear_words(estimate: Any) -> str:
    matrix = np.array(estimate["matrix"])
    x, y = np.hypot(*matrix)
    angle = math.degrees(math.acos(float(matrix[:, 0] @ matrix[:, 1]) / (x * y)))
    return f"x is {x:.4g} times and y {y:.4g} times as long as it should be, with {angle:.4g} degrees between them"


def _unsheared(pred: Localizations, estimate: Any) -> dict[str, Any]:
    back, about = np.linalg.inv(estimate["matrix"]), (estimate["x"], estimate["y"])
    moved = np.column_stack((pred.x, pred.y)) - about
    return dict(zip("xy", (moved @ back.T + about).T, strict=True))


def _unscaled(pred: Localizations, estimate: Any) -> dict[str, Any]:
    return {"x": pred.x / estimate, "y": pred.y / estimate}


def _levelled(pred: Localizations, estimate: Any) -> dict[str, Any]:
    (width, height), (x, y) = estimate["field"], estimate["middle"]
    rise = estimate["x"] * (pred.x - x) / max(width, 1.0) + estimate["y"] * (pred.y - y) / max(height, 1.0)
    return {"z": pred.in_3d().z - rise - estimate["offset"]}


def _without_z_drift(pred: Localizations, estimate: Any) -> dict[str, Any]:
    first, last = estimate["frames"]
    drift = estimate["z"] * (pred.frame - (first + last) / 2) / max(1, last - first)
    return {"z": pred.in_3d().z - drift - estimate["offset"]}


def _mirrored_back(pred: Localizations, estimate: Any) -> dict[str, Any]:
    return {estimate["axis"]: estimate["size"] - getattr(pred, estimate["axis"])}


FINDINGS: dict[str, FindingType] = {
    "no_frames": FindingType(
        lambda rows: f"all {rows} rows are in one frame: the file has no column of frames, or it was not read",
        step="say which column holds the frame (columns=)",
        gross=True,
    ),
    "no_overlap": FindingType(
        _no_overlap_words,
        step="score it against the truth of its own movie",
        gross=True,
        truth="frames",
        unmeasured="it has no frame in common with the truth",
    ),
    "frame_offset": FindingType(
        lambda offset: f"frames are off by {offset:+d}",
        lambda pred, offset: {"frame": pred.frame - offset},
        gross=True,
        truth="frames",
    ),
    "shuffled_frames": FindingType(
        lambda _: "positions fit the truth, but not in their frames: frames are shuffled or of another movie",
        step="write the file again with the frame of each row",
        gross=True,
        truth="frames",
    ),
    "swapped_axes": FindingType(
        lambda _: "x and y are exchanged", lambda pred, _: {"x": pred.y, "y": pred.x}, gross=True, truth="axes"
    ),
    "flipped_axis": FindingType(
        lambda estimate: f"{estimate['axis']} is mirrored at {estimate['size'] / 2:g} nm",
        _mirrored_back,
        gross=True,
        truth="axes",
        unmeasured="an axis is mirrored",
    ),
    "rotated_axes": FindingType(
        lambda estimate: f"the field is turned by {estimate['degrees']:g} degrees",
        _turned_back,
        gross=True,
        truth="axes",
    ),
    "unit": FindingType(
        lambda factor: f"positions are {factor:.4g} times the true ones: they are not in nm",
        _unscaled,
        gross=True,
        truth="unit",
        unmeasured="positions are not in nm",
    ),
    "scale": FindingType(
        lambda factor: f"positions are {factor:.5g} times the true ones ({100 * (factor - 1):+.2g} %)",
        _unscaled,
        far=lambda factor: abs(factor - 1) > _FAR_SHARE,
        truth="pixel size",
        unmeasured="positions have the wrong scale: check the pixel size",
    ),
    "rotation": FindingType(
        lambda estimate: f"everything is turned by {estimate['degrees']:+.2f} degrees",
        _turned_back,
        far=lambda estimate: abs(math.radians(estimate["degrees"])) > _FAR_SHARE,
        truth="axes",
        unmeasured="everything is turned by a small angle",
    ),
    "drift": FindingType(
        lambda estimate: (
            f"positions drift by x {estimate['x']:+.1f}, y {estimate['y']:+.1f} nm from first to last frame"
        ),
        _without_drift,
        far=lambda estimate: math.hypot(estimate["x"], estimate["y"]) > _FAR_NM,
        truth="drift",
        unmeasured="positions drift over the movie",
    ),
    "wander": FindingType(
        lambda estimate: f"positions wander over the movie, {_wandered(estimate):.0f} nm from end to end of their path",
        _without_path,
        far=lambda estimate: _wandered(estimate) > _FAR_NM,
        truth="drift",
        unmeasured="positions wander over the movie",
    ),
    "shear": FindingType(
        _shear_words,
        _unsheared,
        far=lambda estimate: bool(np.abs(np.array(estimate["matrix"]) - np.eye(2)).max() > _FAR_SHARE),
        truth="axes",
        unmeasured="the axes have different scales, or are not at a right angle",
    ),
    "shift": FindingType(
        _shift_words,
        _shifted_back,
        harmless=True,
        far=lambda estimate: math.hypot(estimate["x"], estimate["y"]) > _FAR_NM,
        truth="origin",
        unmeasured="all positions are shifted",
    ),
    "z_sign": FindingType(
        lambda _: "z has the wrong sign",
        lambda pred, _: {"z": -pred.in_3d().z},  # type: ignore[operator]
        gross=True,
        truth="sign of z",
    ),
    "z_flat": FindingType(
        lambda depth: f"all depths are {depth:g} nm, and those of the molecules are not",
        step="score it in 2D (dim=2), or write the depths that the program gives",
        far=lambda _: True,
        truth="depths",
        unmeasured="all depths are the same",
    ),
    "z_scale": FindingType(
        lambda estimate: f"depths are {estimate['factor']:.3g} times the true ones",
        lambda pred, estimate: {"z": (pred.in_3d().z - estimate["offset"]) / estimate["factor"]},
        far=lambda estimate: abs(estimate["factor"] - 1) > _FAR_DEPTH,
        truth="depths",
        unmeasured="depths have the wrong scale: check the calibration and the refractive index",
    ),
    "z_tilt": FindingType(
        lambda estimate: (
            f"depths are tilted: z {estimate['x']:+.0f} nm from left to right, {estimate['y']:+.0f} nm along y"
        ),
        _levelled,
        far=lambda estimate: math.hypot(estimate["x"], estimate["y"]) > _FAR_NM,
        truth="depths",
        unmeasured="depths are tilted over the field",
    ),
    "z_drift": FindingType(
        lambda estimate: f"depths drift by {estimate['z']:+.0f} nm from first to last frame",
        _without_z_drift,
        far=lambda estimate: abs(estimate["z"]) > _FAR_NM,
        truth="drift",
        unmeasured="depths drift over the movie",
    ),
    "z_shift": FindingType(
        lambda length: f"all depths are shifted by {length:+.0f} nm",
        lambda pred, length: {"z": pred.in_3d().z - length},
        harmless=True,
        far=lambda length: abs(length) > _FAR_NM,
        truth="zero of depth",
        unmeasured="all depths are shifted",
    ),
    "duplicates": FindingType(
        lambda rows: f"{rows} rows repeat another",
        lambda pred, _: pred.select(~repeated_rows(pred)).columns(),
        harmless=True,
        far=lambda _: True,
    ),
    "near_duplicates": FindingType(
        lambda estimate: f"{estimate['rows']} rows have another within {estimate['distance']:g} nm in their frame",
        lambda pred, estimate: pred.select(~near_copies(pred, estimate["distance"])).columns(),
        far=lambda _: True,
    ),
    "repeated_frames": FindingType(
        lambda rows: f"{rows} rows repeat one of another frame",
        lambda pred, _: pred.select(~rows_of_other_frames(pred)).columns(),
        far=lambda _: True,
        truth="frames",
    ),
    "frame_jitter": FindingType(
        lambda share: f"{100 * share:.0f} % of the rows fit in the frame before or after theirs, and not in their own",
        step="write the frame of each row as in the movie",
        far=lambda share: share > _WORTH,
        truth="frames",
        unmeasured="some rows are in a frame beside their own",
    ),
    "photon_unit": FindingType(
        lambda factor: f"photons are {factor:g} times the true ones",
        step="give the program the offset and the gain of the camera",
        harmless=True,
        far=lambda _: True,
        truth="photons",
        unmeasured="photons are in another unit",
    ),
    "missing_frames": FindingType(
        _missing_words,
        step="run the program on all frames",
        far=lambda estimate: estimate["share"] > _WORTH,
        truth="frames",
        unmeasured="frames are missing",
    ),
    "empty_region": FindingType(_region_words, step="", is_limit=True),
    "blind_depth": FindingType(_depth_words, step="", is_limit=True),
    "truncated": FindingType(
        lambda estimate: f"the result ends at frame {estimate['last_frame']} of {estimate['truth_last_frame']}",
        step="run the program to the end",
        far=lambda estimate: estimate["last_frame"] < (1 - _WORTH) * estimate["truth_last_frame"],
        truth="last frame",
        unmeasured="it ends before the movie does",
    ),
    "blind_border": FindingType(_border_words, by_rules=True, is_limit=True),
    "worse_than_nothing": FindingType(
        lambda lam: f"worse than an empty file, which has {lam:g} nm", step="", is_limit=True
    ),
    "field": FindingType(_field_words, by_rules=True, harmless=True),
    "file": FindingType(str, step="", harmless=True),
}
"""Every kind of finding."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that looks wrong with a result, and its size as `estimate`; lengths in nm, angles in degrees.

    `certainty` is 0 to 1. `options` are the arguments of `read` or `score` that fix it, empty where there are none;
    `fix` describes what to do. `flat_metric_before` and `flat_metric_after` are the Flat Metric without and with
    that fix, after the fixes of earlier findings, None where there is no fix; `scope` names the part of the
    data, if not everything.

    Examples
    --------
    >>> Finding("frame_offset", -1, 120.0, 30.5, 1.0, {"frame_base": 0}).fix
    'frame_base=0'
    """

    kind: str
    estimate: Any
    flat_metric_before: float | None
    flat_metric_after: float | None
    certainty: float
    options: Mapping[str, Any] = field(default_factory=dict)
    scope: str = ""

    @property
    def type(self) -> FindingType:
        """What all findings of this kind share."""
        return FINDINGS[self.kind]

    @property
    def fix(self) -> str:
        """What to do: arguments of `read` or `score`, or a step."""
        if self.options:
            given = ", ".join(f"{name}={_argument(value)}" for name, value in self.options.items())
            half = self.kind == "shift" and self.estimate["half_pixel"] and self.estimate["x"] < 0
            return f"{given} (half a pixel: check origin=)" if half else given
        if self._is_kept:
            return "write the file again without them"
        return BY_HAND if self.type.step is None else self.type.step

    @property
    def _is_kept(self) -> bool:
        """Whether rows repeat that would be missed if they were dropped: the Flat Metric would rise."""
        return self.kind == "duplicates" and self.flat_metric_after is None

    @property
    def severity(self) -> Severity:
        """How much it matters: "wrong" where frames, axes or unit are, so that no number describes the program; "worth
        fixing" where the fix gains more than a tenth of the Flat Metric, or no program errs by that much; else "note".

        Examples
        --------
        >>> shift = {"x": 10.0, "y": 10.0, "z": 0.0, "half_pixel": False}
        >>> [Finding("shift", shift, 84.0, after, 1.0).severity for after in (81.5, 60.0)]
        ['note', 'worth fixing']
        >>> Finding("swapped_axes", True, 84.0, 30.0, 1.0).severity
        'wrong'
        """
        if self.type.gross:
            return "wrong"
        before, after = self.flat_metric_before, self.flat_metric_after
        large = before is not None and after is not None and after < (1 - _WORTH) * before
        return "worth fixing" if self.is_fault and (large or self.type.far(self.estimate)) else "note"

    @property
    def is_fault(self) -> bool:
        """Whether the file is probably wrong; a blind border, or a bad result, may be the program's."""
        return not self.is_limit and self.kind != "field"

    @property
    def is_limit(self) -> bool:
        """Whether it is a limit of the program, and no error of the file."""
        return self.type.is_limit

    def what(self) -> str:
        """What looks wrong, as a sentence."""
        return self.type.words(self.estimate)

    def gain(self) -> str:
        """What the fix would do to the Flat Metric, as text; empty where it is not known."""
        if self.flat_metric_before is None or self.flat_metric_after is None:
            return ""
        change = f"Flat Metric {self.flat_metric_before:.1f} to {self.flat_metric_after:.1f} nm"
        return f"{change} {self.scope}" if self.scope else change

    def __str__(self) -> str:
        gain = self.gain()
        if not self.fix:
            return self.what()
        return f"{self.what()}: {self.fix}" + (f" ({gain})" if gain else "")

    def for_one_file(self) -> str:
        """What looks wrong, and how to fix it among the results of others: in `submissions.toml`.

        Examples
        --------
        >>> Finding("unit", 0.01, 200.0, 30.5, 1.0, {"unit": "px", "pixel_size": 100.0}).for_one_file()
        'positions are 0.01 times the true ones: they are not in nm (submissions.toml: unit = "px", pixel_size = 100.0)'
        """
        if self.type.step is not None:
            return self.what()
        if self.type.by_rules:
            return str(self)
        options = ", ".join(f"{name} = {in_toml(value)}" for name, value in self.options.items())
        if not options:
            return f"{self.what()} ({'write it again without them' if self._is_kept else 'check can write it fixed'})"
        return f"{self.what()} (submissions.toml: {options})"

    def for_its_team(self) -> str:
        """What looks wrong, without numbers that were measured on the truth.

        Examples
        --------
        >>> shift = {"x": 25.3, "y": -9.0, "z": 0.0, "half_pixel": False}
        >>> Finding("shift", shift, 84.0, 60.0, 1.0).for_its_team(), Finding("frame_offset", 1, 1, 1, 1).for_its_team()
        ('all positions are shifted', 'frames are off by +1')
        """
        return self.type.unmeasured or self.what()

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; `mend` repeats `fix` under its old name.

        Examples
        --------
        >>> Finding("z_sign", True, 120.0, 30.5, 1.0).to_dict()["fix"]
        'check(truth, pred).apply(pred)'
        """
        own = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        words = {"what": self.what(), "mend": self.fix, "fix": self.fix, "severity": self.severity}
        return own | {"options": dict(self.options)} | words


def spoil_advice(findings: Iterable[Finding]) -> bool:
    """Whether the file itself is wrong, as by exchanged axes: then advice on the program would mislead.

    Examples
    --------
    >>> spoil_advice([Finding("swapped_axes", True, 84.0, 30.0, 1.0)]), spoil_advice([])
    (True, False)
    """
    return any(finding.is_fault and not finding.type.harmless for finding in findings)


def in_toml(value: Any) -> str:
    """A reading option as a value of TOML.

    Examples
    --------
    >>> in_toml((-10.27, 3.0)), in_toml("px"), in_toml(True)
    ('[-10.27, 3.00]', '"px"', 'true')
    """
    if isinstance(value, tuple):
        return f"[{', '.join(f'{part:.2f}' for part in value)}]"
    return json.dumps(value)


def _argument(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({','.join(f'{part:.2f}' for part in value)})"
    return f"{value:.6g}" if isinstance(value, float) else repr(value)


@dataclass(frozen=True, slots=True, eq=False)
class Findings(Displayed, Sequence[Finding]):
    """What looks wrong with a result, most important first; empty if nothing does.

    Examples
    --------
    >>> print(Findings((Finding("z_sign", True, 120.0, 30.5, 1.0),)))
    z has the wrong sign: check(truth, pred).apply(pred) (Flat Metric 120.0 to 30.5 nm)
    >>> print(Findings())
    Nothing looks wrong.
    """

    findings: tuple[Finding, ...] = ()
    truth: Localizations | None = field(default=None, repr=False)
    pred: Localizations | None = field(default=None, repr=False)
    lam: float = DEFAULT_LAM

    @overload
    def __getitem__(self, at: int) -> Finding: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Finding, ...]: ...
    def __getitem__(self, at: int | slice) -> Finding | tuple[Finding, ...]:
        return self.findings[at]

    def __len__(self) -> int:
        return len(self.findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __eq__(self, other: object) -> bool:
        return self.findings == tuple(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Findings: {', '.join(one.kind for one in self) or 'none'}>"

    def __str__(self) -> str:
        return "\n".join(map(str, self)) or "Nothing looks wrong."

    def apply(self, pred: Any = None) -> Localizations:
        """The result with everything fixed that a change of its rows can fix; by default the one that was checked.

        Instead of `Localizations`, any table or dict will do.

        Examples
        --------
        >>> late = Findings((Finding("frame_offset", 1, None, None, 1.0),))
        >>> late.apply(Localizations(frame=[2], x=[10.0], y=[0.0])).frame
        array([1])
        """
        if pred is None or (self.pred is not None and str(pred) == self.pred.provenance.file):
            pred = self.pred
        if not isinstance(pred, Localizations):
            pred = read_table(pred, "pred", ReadOptions())
        fixed: Localizations = pred
        for finding in self:
            fixed = apply_fix(fixed, finding)
        return fixed

    def to_dict(self) -> dict[str, Any]:
        """Plain values: the JSON of `flatmetric check`."""
        from flatmetric.version import __version__

        return {"version": __version__, "lam_nm": self.lam, "findings": [one.to_dict() for one in self]}

    def to_pandas(self) -> Any:
        """A row for each finding: kind, what looks wrong, fix, and the Flat Metric (nm) before and after it.

        Examples
        --------
        >>> Findings((Finding("z_sign", True, 120.0, 30.5, 1.0),)).to_pandas()["kind"].tolist()
        ['z_sign']
        """
        import pandas as pd

        names = ["kind", "what", "fix", "flat_metric_before_nm", "flat_metric_after_nm", "certainty"]
        rows = [(f.kind, f.what(), f.fix, f.flat_metric_before, f.flat_metric_after, f.certainty) for f in self]
        return pd.DataFrame(rows, columns=names)


def apply_fix(pred: Localizations, finding: Finding) -> Localizations:
    """The result with one finding fixed.

    Examples
    --------
    >>> t = Localizations(frame=[2], x=[10.0], y=[0.0])
    >>> apply_fix(t, Finding("frame_offset", 1, None, None, 1.0)).frame
    array([1])
    """
    if finding.type.change is None or finding._is_kept:
        return pred
    columns = pred.columns() | finding.type.change(pred, finding.estimate)
    return Localizations(**columns, provenance=pred.provenance)


def repeated_rows(table: Localizations) -> BoolArray:
    """Which rows repeat an earlier one: same frame and position.

    Examples
    --------
    >>> repeated_rows(Localizations(frame=[1, 2, 1], x=[5.0, 5.0, 5.0], y=[0.0, 0.0, 0.0])).tolist()
    [False, False, True]
    """
    columns = [column for column in (table.frame, table.x, table.y, table.z) if column is not None]
    order = np.lexsort(columns)  # stable: the first of equal rows is kept
    alike = np.ones(max(0, len(table) - 1), dtype=bool)
    for column in columns:
        alike &= column[order[1:]] == column[order[:-1]]
    repeats = np.zeros(len(table), dtype=bool)
    repeats[order[1:][alike]] = True
    return repeats


def rows_of_other_frames(table: Localizations) -> BoolArray:
    """Which rows have the position of one in an earlier frame, to the last digit.

    Examples
    --------
    >>> rows_of_other_frames(Localizations(frame=[1, 2, 2], x=[5.0, 5.0, 6.0], y=[0.0, 0.0, 0.0])).tolist()
    [False, True, False]
    """
    places = [column for column in (table.x, table.y, table.z) if column is not None]
    order = np.lexsort([table.frame, *places])
    alike = np.diff(table.frame[order]) > 0
    for column in places:
        alike &= column[order[1:]] == column[order[:-1]]
    copies = np.zeros(len(table), dtype=bool)
    copies[order[1:][alike]] = True
    return copies


def near_copies(table: Localizations, distance: float) -> BoolArray:
    """Which rows have an earlier one as their nearest in the same frame, within a distance in nm, and three times as
    much in depth.

    Examples
    --------
    >>> t = Localizations(frame=[1, 1, 2], x=[5.0, 9.0, 5.0], y=[0.0, 0.0, 0.0])
    >>> near_copies(t, 10.0).tolist()
    [False, True, False]
    """
    apart, row = neighbours(table, table, dim=2, within=distance, apart=True)
    copies: BoolArray = np.isfinite(apart) & (row < np.arange(len(table)))
    if table.z is not None:
        copies &= np.abs(table.z - table.z[row]) <= 3 * distance
    return copies


def reading_options(kind: str, estimate: Any, source: Provenance) -> dict[str, Any]:
    """The arguments of `read` that fix a finding in a file that was read as its provenance says; empty if none do.

    Examples
    --------
    >>> reading_options("frame_offset", -1, Provenance())
    {'frame_base': 0}
    >>> reading_options("scale", 1.03, Provenance(unit="px", pixel_size=(103.0, 103.0)))
    {'pixel_size': 100.0}
    """
    match kind:
        case "frame_offset":
            return {"frame_base": (1 if source.frame_base is None else source.frame_base) + estimate}
        case "swapped_axes" if not source.swap_xy and source.shift is None:
            return {"swap_xy": True}
        case "shift" | "z_shift":
            before = source.shift or (0.0, 0.0, 0.0)
            by = {"z": estimate} if kind == "z_shift" else estimate
            step = tuple(old - by.get(axis, 0.0) for axis, old in zip("xyz", before, strict=True))
            return {"shift": step if step[2] else step[:2]}
        case "unit" if source.shift is None:
            pixel = 1.0 if source.pixel_size is None else source.pixel_size[0]
            factor = {"um": 1e3, "m": 1e9, "px": pixel}.get(source.unit or "nm", 1.0)
            true = factor / estimate  # nm for a unit of the file
            for unit, length in (("nm", 1.0), ("um", 1e3), ("m", 1e9)):
                if abs(true / length - 1) < 0.01:
                    return {"unit": unit}
            return {"unit": "px", "pixel_size": _rounded(true)}
        case "scale" if source.shift is None:
            size = source.pixel_size
            if source.unit == "px" and size is not None and size[0] == size[1]:
                return {"pixel_size": _rounded(size[0] / estimate)}
    return {}


def _rounded(size: float) -> float:
    """A pixel size in nm: a round one, if it is that within what can be measured."""
    round_one = float(f"{size:.3g}")
    return round_one if abs(round_one / size - 1) < _MEASURED else float(f"{size:.6g}")


_TRUTH_NAME = re.compile(r"(^|[^a-z])(truth|gt|ground.?truth|activations)([^a-z]|$)")


def _truthlike(table: Localizations) -> int:
    """How much of its name, format and columns says that a table is a truth."""
    source = table.provenance
    named = source.file is not None and _TRUTH_NAME.search(Path(source.file).stem.lower()) is not None
    return named + (source.format == "challenge-truth") - (table.uncertainty is not None)


def findings_of_files(
    truth: Localizations, pred: Localizations, warnings: tuple[str, ...] = (), of_field: Finding | None = None
) -> list[Finding]:
    """What looked wrong when tables were read and matched, and about the field of view."""
    findings = []
    for table, side in ((truth, "truth"), (pred, "pred")):
        where = table.provenance.file or side
        findings += [Finding("file", f"{where}: {text}", None, None, 1.0) for text in table.provenance.warnings]
    if _truthlike(pred) > max(0, _truthlike(truth)):
        names = [table.provenance.file or side for table, side in ((truth, "truth"), (pred, "pred"))]
        said = f"{names[1]} looks like the truth and {names[0]} does not: exchanged? Give the truth first"
        findings.append(Finding("file", said, None, None, 1.0))
    findings += [Finding("file", text, None, None, 1.0) for text in warnings]
    return findings if of_field is None else [*findings, of_field]
