"""How often the verdicts hold: coverage, errors, power and ranks, held against their bars and written into docs."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tables import PROVE, show
from flatmetric._arrays import FloatArray
from flatmetric._files import write_text
from flatmetric._validation import thread_count
from proofs import elsewhere, movies, worlds

RESULTS = Path(__file__).parent / "results.json"
PAGE = "docs/understand/certainty.md"
_TRIALS = 220  # the standard error of a share of 95 % is 1.5 points
_SHORT_TRIALS = 40  # 3.4 points
_DRAWS = 2000  # of replicates
_NO_BAR = 1e9
_MARGIN = 3  # standard errors that chance may take a share beyond its bar


@dataclass(frozen=True)
class Row:
    """One line of a table: what was tried, how often, the measured shares by name, and the bar of each."""

    table: str
    what: str
    trials: int
    shares: dict[str, float]
    low: float
    high: float
    note: str = ""

    @property
    def missed(self) -> list[str]:
        """The names of the shares that miss their bar by more than chance explains."""
        slack = _MARGIN * (0.05 * 0.95 / self.trials) ** 0.5
        return [name for name, share in self.shares.items() if not self.low - slack <= share <= self.high + slack]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m proofs", description=__doc__)
    parser.add_argument("--short", action="store_true", help="a fifth of the trials, no movies of 1000 frames and more")
    options = parser.parse_args()
    rows: list[Row] = []
    with ProcessPoolExecutor(thread_count(None)) as pool:

        def each(function: Callable[[Any], Any], work: Iterable[Any]) -> list[Any]:
            return list(pool.map(function, work, chunksize=4))

        for found in _proofs(each, short=options.short):
            print(f"{found.table}: {found.what}: {_shown(found)}", flush=True)
            rows.append(found)
    if not options.short:
        write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", RESULTS)
        show(tables(rows), PAGE, PROVE)
    failed = [f"{row.what}: {', '.join(row.missed)}" for row in rows if row.missed]
    for line in failed:
        print(f"MISSED {line}")
    sys.exit(1 if failed else 0)


def _proofs(each: Callable[[Any, Any], list[Any]], *, short: bool) -> Iterable[Row]:
    count = _SHORT_TRIALS if short else _TRIALS
    names = ("Flat Metric", "Jaccard", "RMSE", "efficiency", "difference")
    for name, scenario in (movies.SCENARIOS | ({} if short else movies.MARATHON)).items():
        trials = each(movies.trial, [(name, seed) for seed in range(count)])
        values, spans = np.array([t.values for t in trials]), np.array([t.spans for t in trials])
        blocks = int(np.median([t.blocks for t in trials]))
        note = f"{blocks} block{'' if blocks == 1 else 's'}, by {trials[0].unit}"
        shares = dict(zip(names, _covered(values, spans), strict=True))
        yield Row("Coverage", scenario.title, len(trials), shares, scenario.low, scenario.high, note)
    trials = each(worlds.long_trial, range(count))
    values, spans = np.array([value for value, _ in trials]), np.array([span for _, span in trials])
    shares = dict(zip(names, _covered(values, spans), strict=True))
    yield Row("Coverage", "molecules without images, 10000 frames", len(trials), shares, 0.93, 0.97, "by blocks")
    for world in elsewhere.WORLDS | elsewhere.WITHOUT_IDS:
        trials = each(elsewhere.trial, [(world, seed) for seed in range(count)])
        values, spans = np.array([value for value, _ in trials]), np.array([span for _, span in trials])
        shares = dict(zip(names, _covered(values, spans), strict=True))
        low = {elsewhere.CROWDED: 0.85}.get(world, 0.90 if world in elsewhere.WITHOUT_IDS else 0.93)
        yield Row("Coverage in other worlds", world, len(trials), shares, low, 0.97 if low == 0.93 else 1.0)
    values = np.array(each(movies.structure_trial, range(10_000, 10_000 + (160 if short else 480))))
    for replicates in (8, 16):
        shares = {"Flat Metric": worlds.replicate_coverage(values, replicates, _DRAWS)}
        note = f"high density, 60 frames each; drawn from {len(values)} structures"
        yield Row("New structures", f"{replicates} replicates", _DRAWS, shares, 0.92, 1.0, note)
    for what, work in worlds.FAMILIES.items():
        wrong = each(worlds.any_equal_told, [(what, seed) for seed in range(min(work.trials, count))])
        yield Row(
            "Significant differences between equal programs",
            what,
            len(wrong),
            {"error": float(np.mean(wrong))},
            0.0,
            0.05,
        )
    held = each(worlds.ranks_hold, range(count if short else 400))
    shares = {"all true ranks in their sets": float(np.mean(held))}
    yield Row("Ranks", "10 programs, neighbours one standard error apart", len(held), shares, 0.94, 1.0)
    for frames in () if short else (200, 500, 2000):
        told = each(worlds.told_apart, [(frames, step, seed) for step in range(worlds.STEPS) for seed in range(40)])
        smallest = worlds.half_told(frames, told)
        yield Row("Power", f"{frames} frames", len(told), {"nm": smallest}, 0.0, _NO_BAR)


def _covered(values: FloatArray, spans: FloatArray) -> list[float]:
    """How often each of (trials, k) intervals holds the mean over all trials, which stands for the truth: its error
    is a fifteenth of that of one trial.
    """
    true = values.mean(axis=0)
    shares = ((spans[:, :, 0] <= true) & (true <= spans[:, :, 1])).mean(axis=0)
    return [float(share) for share in shares]


def _shown(row: Row) -> str:
    if row.table == "Power":
        return f"{row.shares['nm']:.1f} nm"
    return ", ".join(f"{name} {100 * share:.1f} %" for name, share in row.shares.items()) + (
        f" ({row.note})" if row.note else ""
    )


def tables(rows: Sequence[Row]) -> str:
    """The tables in Markdown."""
    lines: list[str] = []
    for table in dict.fromkeys(row.table for row in rows):
        here = [row for row in rows if row.table == table]
        names = list(here[0].shares)
        if table == "Power":
            lines += [
                "### Power",
                "",
                "| two programs, blinking molecules | significant in half of the cases |",
                "|---|---|",
            ]
            lines += [f"| {row.what} | {row.shares['nm']:.1f} nm |" for row in here]
        else:
            lines += [f"### {table}", "", "| | " + " | ".join(f"{name} [%]" for name in names) + " | trials | bar | |"]
            lines.append("|---" * (len(names) + 4) + "|")
            for row in here:
                shares = " | ".join(f"{100 * row.shares[name]:.1f}" for name in names)
                lines.append(f"| {row.what} | {shares} | {row.trials} | {_bar(row)} | {row.note} |")
        lines.append("")
    return "\n".join(lines).rstrip()


def _bar(row: Row) -> str:
    if row.low > 0 and row.high < 1:
        return f"{100 * row.low:.0f} to {100 * row.high:.0f}"
    return f"at least {100 * row.low:.0f}" if row.low > 0 else f"at most {100 * row.high:.0f}"


if __name__ == "__main__":
    main()
