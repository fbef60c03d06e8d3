"""`flatmetric challenge run`: simulate, run all programs, score, rank and draw; or score what is there."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from flatmetric._dataclass import dataclass
from flatmetric._files import make_folder
from flatmetric.api.challenge import challenge as run_challenge
from flatmetric.cli.board_text import board_text
from flatmetric.cli.cluster import Cluster, cluster
from flatmetric.cli.options import Keywords, command
from flatmetric.cli.progress import progress_bar
from flatmetric.cli.text import aligned

if TYPE_CHECKING:
    from flatmetric.paper.agreement import Advantage, Agreement

challenge = click.Group(
    "challenge",
    help="Hold a simulated challenge: simulate, localize, rank. See flatmetric challenge run -h.",
    no_args_is_help=True,
)


@dataclass(frozen=True, kw_only=True)
class ChallengeFlags(Cluster):
    """The flags of `challenge run` besides those of `fm.challenge`."""


@command(
    run_challenge,
    often=(
        "out",
        "dataset",
        "frames",
        "modality",
        "replicates",
        "participant",
        "program",
        "existing",
        "tune",
        "seed",
        "lam",
        "protocol",
        "jobs",
    ),
)
def run(keywords: Keywords, flags: ChallengeFlags) -> None:
    """Find which program is best on data sets like those of 2016, and how the metrics agree.

    flatmetric challenge run --dataset MT4.N2.HD --frames 10 --participant dog --tune 3 --out mine
    flatmetric challenge run --dataset MT4.N2.HD --modality AS --frames 10 --participant baseline --tune 0 --out mine3d
    flatmetric challenge run --from challenge --out mine

    It simulates the data sets, runs all programs, scores and ranks them, and draws the paper's Figures 1c and 4. The
    localizers of the package take part with their defaults and tuned on training sets that are not scored.
    """
    out, existing = Path(keywords["out"]), keywords["existing"]
    make_folder(out)
    folders = [out, *([] if existing is None else [Path(existing)])]
    with cluster(flags.scheduler, folders) as executor, progress_bar() as progress:
        made = run_challenge(progress=progress, executor=executor, **keywords)
    if made.not_installed:
        print(f"not installed, so not taking part: {', '.join(made.not_installed)}", file=sys.stderr)
    print(board_text(made.leaderboard, f"{out}/leaderboard/leaderboard.md") + "\n")
    if made.verdict is None:
        print("no result was scored, so there is nothing to draw")
    else:
        if made.tuned:
            print(_tuned_text(made.tuned) + "\n")
        if made.kept:
            print(f"tuning kept the defaults of {', '.join(made.kept)}\n")
        print(_agreement_text(made.agreements, made.advantages))
        print(made.verdict + "\n")
    print(f"written: {', '.join(map(str, made.files))}")


challenge.add_command(run)


def _tuned_text(tuned: Sequence[tuple[str, str, float, float]]) -> str:
    """What tuning brought, as a table."""
    rows = [[dataset, method, f"{best:.1f}", f"{usual:.1f}"] for dataset, method, best, usual in tuned]
    return "\n".join(["Flat Metric, nm", *aligned([["data set", "method", "tuned", "defaults only"], *rows], "<")])


def _agreement_text(measured: Sequence[Agreement], ahead: Sequence[Advantage]) -> str:
    """How metrics correlate with efficiency, as a table."""
    rows = [["data set", "metric", "programs", "Spearman", "95 %", "Pearson", "95 %"]]
    for one in measured:
        if one.spearman is not None:
            spearman = _with_interval(one.spearman, one.spearman_interval)
            pearson = _with_interval(one.pearson, one.pearson_interval)
            rows.append([one.dataset, one.metric, str(one.participants), *spearman, *pearson])
    if len(rows) == 1:
        return "too few programs to correlate metrics with efficiency"
    lines = ["correlation with efficiency", *aligned(rows, "<")]
    for lead in ahead:
        if lead.difference is not None:
            value, interval = _with_interval(lead.difference, lead.interval)
            lines.append(f"{lead.dataset}: lead of the Flat Metric over RMSMD in rank correlation {value} ({interval})")
    return "\n".join(lines)


def _with_interval(value: float | None, interval: tuple[float, float] | None) -> tuple[str, str]:
    return (
        "-" if value is None else f"{value:.2f}",
        "-" if interval is None else f"{interval[0]:.2f} to {interval[1]:.2f}",
    )
