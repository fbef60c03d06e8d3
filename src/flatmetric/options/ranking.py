"""The options of functions that score and rank many results."""

from __future__ import annotations

import os

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
    replace: bool = option(False, "Replace a leaderboard that was made with other settings.", section="Output")


@dataclass(frozen=True, kw_only=True)
class LeaderboardOptions(RankOptions):
    """The options of `leaderboard`."""

    out: str | os.PathLike[str] | None = option(
        None, "Folder for the leaderboard; default: FOLDER/leaderboard.", section="Output", metavar="DIR"
    )
    latex: str | os.PathLike[str] | None = option(
        None, "Also write the ranks as LaTeX tables.", section="Output", metavar="FILE"
    )
