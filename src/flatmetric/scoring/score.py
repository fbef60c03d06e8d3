"""Every metric of one table against another, by one protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from flatmetric._dataclass import dataclass
from flatmetric._display import view_of
from flatmetric._validation import thread_count
from flatmetric.errors import InputError
from flatmetric.localizations import Localizations
from flatmetric.matching.matched import Matched, dimension, match_tables
from flatmetric.matching.molecules import with_molecules
from flatmetric.metrics.base import NO_TRUTH, FormulaSettings, Measure, Rows, Sums, evaluate
from flatmetric.metrics.table import FAMILIES
from flatmetric.options.rules import Protocol
from flatmetric.options.scoring import BINS, MetricOptions
from flatmetric.scoring.base_score import BaseScore, Basis, Input
from flatmetric.scoring.frame_sums import FrameSums, frame_sums
from flatmetric.scoring.masses import masses
from flatmetric.scoring.row_costs import RowCosts, row_costs
from flatmetric.transport.curve import FlatCurve, flat_curve
from flatmetric.transport.flat_metric import flat_metric
from flatmetric.transport.result import FlatResult

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from flatmetric.scoring.advice import Advice
    from flatmetric.scoring.breakdown import Bin


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Score(BaseScore):
    """Every metric of one result; None where undefined, with the reason in `undefined()`. Lengths in nm.

    `findings` are what looks wrong with the files as a whole, `intervals` the confidence intervals if they were asked
    for. Assumptions about the files are in `matched.truth.provenance` and `matched.pred.provenance`.

    Examples
    --------
    >>> t = Localizations(frame=[1, 1], x=[0.0, 900.0], y=[0.0, 0.0])
    >>> p = Localizations(frame=[1], x=[3.0], y=[4.0])
    >>> s = score_tables(t, p)
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
        )

    def plot(self, frame: int | None = None) -> Figure:
        """Where the Flat Metric comes from, and the field with what was missed and what is false; or one frame with its
        transport plan. Lengths in nm.

        Examples
        --------
        >>> t = Localizations(frame=[1, 1], x=[0.0, 900.0], y=[0.0, 0.0])
        >>> score_tables(t, t.select([True, False])).plot(frame=1).axes[0].get_title()
        'frame 1: 2 true, 1 found, 62.5 nm per molecule'
        """
        figure: Figure = view_of(self).plot(self) if frame is None else view_of(self).plot_frame(self, frame)
        return figure

    def per_frame(self) -> pd.DataFrame:
        """A row for each frame: counts, its own Flat Metric, and its shares of the whole, nm.

        Examples
        --------
        >>> t = Localizations(frame=[1, 2], x=[0.0, 0.0], y=[0.0, 0.0])
        >>> score_tables(t, t.select([True, False])).per_frame()["missed_share_nm"].tolist()
        [0.0, 62.5]
        """
        from flatmetric.scoring.breakdown import per_frame

        return _frame(per_frame(self))

    def per_molecule(self) -> pd.DataFrame:
        """A row for each molecule and each detection: its partner, what it costs (nm) and why.

        Examples
        --------
        >>> t = Localizations(frame=[1, 2], x=[0.0, 0.0], y=[0.0, 0.0])
        >>> score_tables(t, t.select([True, False])).per_molecule()["part"].tolist()
        ['displaced', 'missed', 'moved']
        """
        from flatmetric.scoring.breakdown import per_molecule

        return _frame(per_molecule(self))

    def by(self, quantity: str, bins: int = BINS) -> pd.DataFrame:
        """Scores in bins of z (nm), photons, density, neighbour (nm) or frame, a row for each bin.

        Examples
        --------
        >>> t = Localizations(frame=[1, 2], x=[0.0, 0.0], y=[0.0, 0.0])
        >>> score_tables(t, t.select([True, False])).by("frame", bins=2)["flat_metric"].tolist()
        [0.0, 125.0]
        """
        rows = [one.to_dict() for one in self.in_bins(quantity, bins)]
        return _frame([{**row.pop("challenge"), **row} for row in rows])

    def in_bins(self, quantity: str, bins: int = BINS) -> list[Bin]:
        """The same as a list of bins.

        Examples
        --------
        >>> t = Localizations(frame=[1, 2], x=[0.0, 0.0], y=[0.0, 0.0])
        >>> [one.n_truth for one in score_tables(t, t).in_bins("frame", bins=2)]
        [1, 1]
        """
        from flatmetric.scoring.breakdown import score_in_bins

        return score_in_bins(self, quantity, bins)  # type: ignore[arg-type]

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
        >>> print(score_tables(t, p).advice[0])
        Subtract the bias of x +30.0 nm. Fixing this would lower the Flat Metric by 30.0 nm.
        """
        from flatmetric.scoring.advice import advice_for

        return advice_for(self)

    def curve(self, lam_max: float) -> FlatCurve:
        """The Flat Metric of the rows that count for every lam up to `lam_max`, nm; computed once.

        Examples
        --------
        >>> t = Localizations(frame=[1], x=[0.0], y=[0.0])
        >>> float(score_tables(t, Localizations(frame=[1], x=[30.0], y=[40.0])).curve(250)(10))
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


def score_tables(
    truth: Localizations,
    pred: Localizations,
    options: MetricOptions | None = None,
    rules: Protocol | None = None,
    *,
    threads: int | None = None,
) -> Score:
    """Score one table against another by some rules; nothing is checked.

    Notes
    -----
    The order is that of the challenge: wobble, border, matching, threshold, don't-care rule. True molecules at or below
    the threshold, and detections matched to them, are removed; all metrics are computed on what remains.

    Examples
    --------
    >>> t = Localizations(frame=[1, 1], x=[0.0, 900.0], y=[0.0, 0.0])
    >>> p = Localizations(frame=[1], x=[3.0], y=[4.0])
    >>> score_tables(t, p).flat_metric.value
    65.0
    """
    options, rules = options or MetricOptions(), rules or Protocol()
    truth = with_molecules(truth)
    truth.check_has_rows()
    if options.images and rules.fov is None:
        raise InputError("the images need the size of the field; give fov= in nm")
    dim, workers = dimension(truth, pred, rules), thread_count(threads)
    matched = match_tables(truth, pred, rules, dim, workers)
    photons_known = matched.truth.photons is not None and matched.pred.photons is not None
    with aside(workers) as begun:  # what needs no sums over frames, beside these
        rows = Rows(matched, options, rules.fov)
        wanted = [(part, family.measured) for part, family in FAMILIES.items() if family.is_wanted(options)]
        measures = begun(lambda: {part: measured(rows) for part, measured in wanted})
        flat = flat_metric_of(matched, options)
        sums = frame_sums(matched, flat, FormulaSettings(dim, photons_known, options))
        measured = measures()
    return Score(
        options=options,
        dim=dim,
        protocol=rules,
        **families_and_reasons(sums.total, measured),
        matched=matched,
        sums=sums,
        flat_result=flat,
    )


@contextmanager
def aside(threads: int) -> Iterator[Callable[[Callable[[], Any]], Callable[[], Any]]]:
    """Begin work on another thread, where there may be one; what is returned waits for it.

    Examples
    --------
    >>> with aside(2) as begun:
    ...     four = begun(lambda: 2 + 2)
    >>> four()
    4
    """
    if threads == 1:
        yield lambda work: work
        return
    with ThreadPoolExecutor(1) as pool:
        yield lambda work: pool.submit(work).result


def families_and_reasons(sums: Sums, measured: Mapping[str, Mapping[str, Measure]]) -> dict[str, Any]:
    """The results of families as fields of a score, from the sums over frames and what was `measured` besides, by
    family; and why values are undefined.
    """
    results = {part: evaluate(FAMILIES[part].result, sums, values) for part, values in measured.items()}
    reasons = {f"{part}.{name}": why for part, (_, of_part) in results.items() for name, why in of_part.items()}
    return {part: result for part, (result, _) in results.items()} | {"reasons": reasons}


def flat_metric_of(matched: Matched, options: MetricOptions) -> FlatResult | None:
    """The Flat Metric of the rows that count; None without a true one."""
    truth, pred, threads = matched.kept_truth, matched.kept_pred, matched.threads
    if len(truth) == 0:
        return None
    try:
        return flat_metric(
            truth.points(matched.dim, threads),
            pred.points(matched.dim, threads),
            lam=options.lam,
            truth_frames=truth.frame,
            pred_frames=pred.frame,
            axis_scale=options.axis_scale,
            threads=threads,
            **masses(truth, pred, options.weights),
        )
    except (TypeError, ValueError) as error:
        raise InputError(str(error)) from error
