"""What every metric means, and its formula: the one source of tooltips, of the table on pages and of the docs.

In formulas, d = pred - truth over the TP matched pairs, and lengths are in nm.
"""

from __future__ import annotations

from dataclasses import dataclass

from flatmetric.metrics.base import Better, Metric
from flatmetric.metrics.table import METRICS


@dataclass(frozen=True, slots=True)
class Definition:
    """What a metric means, and its formula; both plain text."""

    meaning: str
    formula: str


_BETTER: dict[Better | None, str] = {
    "lower": "lower is better",
    "higher": "higher is better",
    "zero": "0 is best",
    "one": "1 is best",
    None: "for information",
}


def direction(metric: Metric) -> str:
    """Which values of a metric are good.

    Examples
    --------
    >>> direction(METRICS["challenge.jaccard"]), direction(METRICS["calibration.xy"])
    ('higher is better', '1 is best')
    """
    return _BETTER[metric.better]


def _errors(of: str, over: str) -> dict[str, Definition]:
    """Root mean square and mean absolute errors, lateral, axial and both, which two families have."""
    axes = {"xy": ("in the plane", "dx^2 + dy^2", "|dx| + |dy|"), "z": ("along z", "dz^2", "|dz|")}
    axes["xyz"] = ("in space", "dx^2 + dy^2 + dz^2", "|dx| + |dy| + |dz|")
    found = {}
    for name, (where, squares, sizes) in axes.items():
        found[f"rmse_{name}"] = Definition(
            f"root mean square error {where}, of {of}", f"sqrt(mean of {squares} over {over})"
        )
        found[f"mad_{name}"] = Definition(f"mean absolute error {where}, of {of}", f"mean of {sizes} over {over}")
    return found


_FLAT = {
    "value": Definition(
        "least cost of turning the detections into the true molecules, for each true molecule, all frames together",
        "displaced + missed + false; with photons as weights, shares of photons count instead of molecules",
    ),
    "displaced": Definition("part from molecules that were found, but elsewhere", "sum of distances moved / molecules"),
    "missed": Definition("part from molecules without a detection", "lam x missed / molecules"),
    "false": Definition("part from detections without a molecule", "lam x false / molecules"),
    "merged": Definition(
        "part of missed whose molecules lie within 2 lam of a detection that belongs to another: one detection for two",
        "lam x merged / molecules",
    ),
    "split": Definition(
        "part of false whose detections lie within 2 lam of a molecule that belongs to another: two detections for one",
        "lam x split / molecules",
    ),
    "lower_bound": Definition(
        "the Flat Metric can't be lower: the value of the dual problem",
        "potentials of molecules - those of detections, summed / molecules",
    ),
    "gap": Definition("distance between value and lower bound; 0 proves the value", "value - lower bound"),
    "frame_mean": Definition(
        "mean of the Flat Metric of each frame by itself, over the frames that have a true molecule",
        "mean of value over frames with truth",
    ),
    "frames_without_truth": Definition("frames that have detections and no true molecule", "count"),
}
_CHALLENGE = {
    "tp": Definition("molecules with a matched detection", "TP"),
    "fp": Definition("detections without a matched molecule", "FP"),
    "fn": Definition("molecules without a matched detection", "FN"),
    "precision": Definition("share of the detections that are matched", "TP / (TP + FP)"),
    "recall": Definition("share of the molecules that are matched", "TP / (TP + FN)"),
    "f1": Definition("harmonic mean of precision and recall", "2 TP / (2 TP + FP + FN)"),
    "jaccard": Definition("matched pairs among all molecules and detections", "100 TP / (TP + FP + FN)"),
    **_errors("matched molecules", "matched pairs"),
    **{
        f"bias_{axis}": Definition(f"mean error along {axis}: where everything is shifted to", f"mean of d{axis}")
        for axis in "xyz"
    },
    "efficiency_xy": Definition(
        "Jaccard and lateral RMSE in one number; alpha is 1 per nm unless set",
        "100 - sqrt((100 - Jaccard)^2 + (alpha RMSE lateral)^2)",
    ),
    "efficiency_z": Definition(
        "Jaccard and axial RMSE in one number; alpha is 0.5 per nm unless set",
        "100 - sqrt((100 - Jaccard)^2 + (alpha RMSE axial)^2)",
    ),
    "efficiency": Definition("the mean of both efficiencies in 3D, the lateral one in 2D", "(lateral + axial) / 2"),
    "photon_correlation": Definition("how true and found photons of matched pairs agree", "Pearson's r"),
}
_MOLECULES = {
    "tp": Definition("molecules matched in at least one frame", "count of molecules"),
    "fn": Definition("molecules matched in no frame", "count of molecules"),
    "recall": Definition("share of the molecules that are matched in at least one frame", "found / (found + missed)"),
    **_errors("molecules, each at the mean of its detections", "found molecules"),
    "detection_ratio": Definition(
        "share of its frames in which a found molecule is matched", "mean of matched frames / frames"
    ),
}
_RMSMD = {
    "per_frame": Definition(
        "root mean square distance from every point, of both sides, to the nearest of the other side in its frame",
        "sqrt(mean of nearest^2 over both sides)",
    ),
    "per_frame_truth_to_pred": Definition(
        "RMSMD per frame, from molecules to detections only", "sqrt(mean of nearest^2)"
    ),
    "per_frame_pred_to_truth": Definition(
        "RMSMD per frame, from detections to molecules only", "sqrt(mean of nearest^2)"
    ),
    "alone": Definition("points whose frame has no point of the other side, which are left out", "count"),
    "whole_set": Definition(
        "root mean square distance to the nearest point of the other side, whatever its frame",
        "sqrt(mean of nearest^2 over both sides)",
    ),
    "whole_set_truth_to_pred": Definition(
        "RMSMD of the whole set, from molecules to detections only", "sqrt(mean of nearest^2)"
    ),
    "whole_set_pred_to_truth": Definition(
        "RMSMD of the whole set, from detections to molecules only", "sqrt(mean of nearest^2)"
    ),
}
_GOSPA = {
    "value": Definition(
        "generalised optimal subpattern assignment: a best assignment, and half of c^p for each point alone; "
        "of order 1 with c = 2 lam, divided by the number of molecules, it is the Flat Metric",
        "(sum of d^p + c^p / 2 x (missed + false))^(1/p)",
    ),
    "p": Definition("order of GOSPA", "p"),
    "c": Definition("distance beyond which nothing is assigned", "c"),
    "localization": Definition("part from assigned pairs; parts add up as their p-th powers", "(sum of d^p)^(1/p)"),
    "missed": Definition("part from molecules without a partner", "(c^p / 2 x missed)^(1/p)"),
    "false": Definition("part from detections without a partner", "(c^p / 2 x false)^(1/p)"),
    "frame_mean": Definition("mean of GOSPA of each frame by itself, over frames with any point", "mean over frames"),
}
_OSPA = {
    "value": Definition(
        "optimal subpattern assignment: for each point of the larger side of a frame; one without a pair costs c",
        "((sum of d^p + c^p (larger - pairs)) / larger)^(1/p)",
    ),
    "p": Definition("order of OSPA", "p"),
    "c": Definition("distance beyond which nothing is assigned", "c"),
    "frame_mean": Definition("mean of OSPA of each frame by itself, over frames with any point", "mean over frames"),
}
_CALIBRATION = {
    **{
        axis: Definition(
            f"errors along {axis}, bias left out, over the precision that the result claims; 2 means twice as large",
            f"standard deviation of (d{axis} / claimed)",
        )
        for axis in "xy"
    },
    "xy": Definition(
        "errors, bias left out, over the precision that the result claims; 2 means twice as large",
        "standard deviation of (d / claimed), both axes pooled",
    ),
    "claims": Definition("matched pairs whose detection claims a precision", "count"),
}
_BOUND = {
    "rmse_xy": Definition(
        "the Cramer-Rao bound: the least lateral RMSE that photons, background, pixel and spot width allow",
        "sqrt(mean of 2 x least variance along one axis)",
    ),
    "ratio": Definition(
        "how far the result is from the Cramer-Rao bound, over the pairs that have one", "RMSE lateral / bound"
    ),
    "pairs": Definition("matched pairs whose bound is known", "count"),
}
_LINKED = {
    "molecules": Definition("true molecules, by their ids", "count"),
    "linked": Definition("molecules that linking detections over frames gives", "count"),
    "counting_error": Definition(
        "how many linked molecules are too many (+) or too few (-)", "100 (linked - true) / true"
    ),
    "flat_metric": Definition("Flat Metric between linked and true molecules, all frames together", "as Flat Metric"),
    "rmse_xy": Definition(
        "lateral RMSE between linked and true molecules, over the pairs of their plan", "sqrt(mean of dx^2 + dy^2)"
    ),
}
_VIEWS = {
    "xyz": "the volume",
    "xy": "the image seen along z",
    "xz": "the image seen along y",
    "yz": "the image seen along x",
}
_IMAGES = {
    **{
        f"snr_{view}": Definition(
            f"how well {seen}, rendered with spots of 20 nm full width at half maximum, agrees with that of the truth",
            "10 log10(sum of truth^2 / sum of (truth - result)^2)",
        )
        for view, seen in _VIEWS.items()
    },
    **{
        f"frc_{view}": Definition(
            f"length down to which {seen} agrees with that of the truth",
            "where the Fourier ring correlation falls to 1/7",
        )
        for view, seen in _VIEWS.items()
        if view != "xyz"
    },
}
_PARTS = {
    "flat_metric": _FLAT,
    "challenge": _CHALLENGE,
    "molecules": _MOLECULES,
    "rmsmd": _RMSMD,
    "gospa": _GOSPA,
    "ospa": _OSPA,
    "calibration": _CALIBRATION,
    "bound": _BOUND,
    "linked": _LINKED,
    "images": _IMAGES,
}

DEFINITIONS: dict[str, Definition] = {key: _PARTS[key.split(".")[0]][key.split(".")[1]] for key in METRICS}
"""The definition of every metric by its key in the JSON."""


def definitions_table() -> str:
    """Every metric with its definition, formula and direction, as Markdown: the content of docs/reference/metrics.md.

    Examples
    --------
    >>> print(definitions_table().splitlines()[8])
    | `flat_metric.displaced` | displaced [nm] | part from molecules that were found, but elsewhere | \
sum of distances moved / molecules | lower is better |
    """
    lines = [
        "# Every metric",
        "",
        "In formulas, d = pred - truth over the TP matched pairs, and lengths are in nm. All frames count together",
        "unless a definition says otherwise. Pages show the same definitions. Made by `python -m examples.make_docs`.",
        "",
        "| key in the JSON | name | definition | formula | good is |",
        "|---|---|---|---|---|",
    ]
    for key, metric in METRICS.items():
        cells = (f"`{key}`", metric.heading, DEFINITIONS[key].meaning, DEFINITIONS[key].formula, direction(metric))
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines) + "\n"
