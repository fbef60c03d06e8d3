"""The options of functions that score and rank many results."""

from __future__ import annotations

import os
from collections.abc import Sequence

from flatmetric._dataclass import dataclass
from flatmetric.options.base import group, option
from flatmetric.options.certainty import Certainty
from flatmetric.options.execution import Execution
from flatmetric.options.scoring import MetricOptions, ScoreOptions


@dataclass(frozen=True, kw_only=True)
class RankOptions(ScoreOptions):
    """The options of functions that score and rank many results."""

    metrics: MetricOptions = group(MetricOptions, without=("images",))
    certainty: Certainty = group(Certainty)
    execution: Execution = group(Execution, only=("jobs", "timeout"))
    exclude: Sequence[str] = option(
        (), "Leave this program out of all ranks and comparisons; may be repeated.", metavar="NAME", section="Ranking"
    )
    exclude_suspect: bool = option(
        False, "Leave out every result that looks wrong, not only what certainly is.", section="Ranking"
    )
    include_suspect: bool = option(False, "Rank also the results that are certainly wrong.", section="Ranking")
    replace: bool = option(False, "Replace a leaderboard that was made with other settings.", section="Output")


@dataclass(frozen=True, kw_only=True)
class LeaderboardOptions(RankOptions):
    """The options of `leaderboard`."""

    truth_file: str | os.PathLike[str] | None = option(
        None, "FOLDER holds results on this one truth, and no data sets.", flag="truth", metavar="FILE"
    )
    out: str | os.PathLike[str] | None = option(
        None, "Folder for the leaderboard; default: FOLDER/leaderboard.", section="Output", metavar="DIR"
    )
    latex: str | os.PathLike[str] | None = option(
        None, "Also write the ranks as LaTeX tables.", section="Output", metavar="FILE"
    )
    draft_fixes: str | os.PathLike[str] | None = option(
        None, "Write the fixes of all findings as a draft of submissions.toml.", section="Output", metavar="FILE"
    )
    letters: str | os.PathLike[str] | None = option(
        None,
        "Write a short text for each team into this folder; it doesn't reveal the truth.",
        section="Output",
        metavar="DIR",
    )
