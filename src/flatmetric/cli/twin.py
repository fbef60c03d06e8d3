"""`flatmetric twin`: which program, with which settings, for a movie without a known truth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from flatmetric._dataclass import dataclass
from flatmetric._files import make_folder
from flatmetric.api.twin import twin as make_twin
from flatmetric.cli.cluster import Cluster, cluster
from flatmetric.cli.options import Argument, Keywords, command
from flatmetric.cli.output import print_assumption, print_finding
from flatmetric.cli.progress import progress_bar
from flatmetric.cli.text import as_flags


@dataclass(frozen=True, kw_only=True)
class TwinFlags(Cluster):
    """The flags of `twin` besides those of `fm.twin`."""


@command(
    make_twin,
    often=(
        "out",
        "pixel_size",
        "offset",
        "photons_per_count",
        "kind",
        "beads",
        "bead_step",
        "result",
        "participants",
        "programs",
        "twins",
        "tune",
        "jobs",
    ),
)
def twin(
    movie: Annotated[Path, Argument("MOVIE", "An image stack: TIFF, .nd2 or .czi.")],
    keywords: Keywords,
    flags: TwinFlags,
) -> None:
    """Which program for a movie? Simulate movies like it with known truth, and tune and rank programs on these.

    flatmetric twin movie.tif --offset 100 --photons-per-count 0.17 --participant dog --twins 2 --tune 0 --out twin
    """
    if flags.scheduler is not None:  # its workers look for the folder
        make_folder(Path(keywords["out"]))
    with cluster(flags.scheduler, [Path(keywords["out"])]) as executor, progress_bar() as progress:
        made = make_twin(movie, progress=progress, executor=executor, **keywords)
    for sentence in made.sentences():
        print(sentence)
    for weakness in made.weak:
        print(f"on the twins: {weakness.sentence} ({weakness.gain:.1f} nm)")
    for doubt in made.doubts:
        print_finding(doubt, "worth fixing")
    for note in made.estimates.notes:
        print_assumption(as_flags(note))
    for program, reason in sorted(made.failures.items()):
        print(f"failed: {program}, {reason}")
    print(f"written: {', '.join(str(path) for path in made.files)}")
