"""How well twins tell which program is best for a movie, on movies of a foreign simulator: `python -m proofs.twins`.

Every program with every setting runs on the movie, whose truth the twin never sees, and on its twins. The table goes
into docs/how-to/twin.md. Half of the movies (even numbers) were there while the estimates were made, the others were
kept aside.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import flatmetric as fm
from benchmarks.tables import PROVE, show
from flatmetric._arrays import FloatArray
from flatmetric._files import write_columns, write_text
from flatmetric._validation import thread_count
from flatmetric.challenges.tuning import even_settings
from flatmetric.localizers.registry import METHODS, StackCamera, camera_of, localize_stack, participant
from flatmetric.simulation.folder import STACK, TRUTH, simulate_folder
from flatmetric.stacks import open_stack
from flatmetric.twins.estimates import MovieEstimates, estimated
from flatmetric.twins.likeness import likeness, statistics_of, verdict
from flatmetric.twins.ranking import Contender, choice
from flatmetric.twins.seen import seen_in
from proofs.foreign import Scope, movie, scope

RESULTS = Path(__file__).parent / "twins.json"
ABLATIONS = RESULTS.with_name("ablations.json")
"""The values of a run with wrong twins on which all programs ran, `--ablated`, on the movies with even numbers."""
PAGE = "docs/how-to/twin.md"
TWINS = 4
SETTINGS = 6
"""Of each method, its defaults among them."""
SECOND = "second movie"
"""Another movie of the same law, as good as a twin can be."""
UNKNOWN = (3, 7)
"""Movies whose number leaves one of these when divided by 8 come without offset and gain."""
_LAM = 125.0


def _halved_gain(known: MovieEstimates) -> MovieEstimates:
    camera = dataclasses.replace(known.camera, electrons_per_count=2 * known.camera.electrons_per_count)
    return dataclasses.replace(known, camera=camera, photons=2 * known.photons, background=2 * known.background)


def _uniform(known: MovieEstimates) -> MovieEstimates:
    size = known.stack_camera.pixel_size
    field = np.array([known.width * size, known.height * size])
    places = np.random.default_rng(0).uniform(0, 1, (len(known.places), 2)) * field
    return dataclasses.replace(known, places=places)


WRONG: Mapping[str, Callable[[MovieEstimates], MovieEstimates]] = {
    "spots 20 % wider": lambda known: dataclasses.replace(known, sigma=1.2 * known.sigma),
    "spots 20 % narrower": lambda known: dataclasses.replace(known, sigma=known.sigma / 1.2),
    "flat background": lambda known: dataclasses.replace(
        known, background=np.full_like(known.background, known.background.mean())
    ),
    "twice the density": lambda known: dataclasses.replace(known, density=2 * known.density),
    "half the density": lambda known: dataclasses.replace(known, density=known.density / 2),
    "half the gain": _halved_gain,
    "twice the photons": lambda known: dataclasses.replace(known, photons=2 * known.photons),
    "all molecules equally bright": lambda known: dataclasses.replace(known, photons_spread=0.02),
    "on for three times as long": lambda known: dataclasses.replace(known, on_time=3 * known.on_time),
    "no bleaching": lambda known: dataclasses.replace(known, fading=(), course=()),
    "molecules anywhere": _uniform,
}
"""Twins that are wrong on purpose."""
WRONG_WHERE: Mapping[str, Callable[[Mapping[str, Any]], bool]] = {
    "flat background": lambda made: bool(made["unevenness"] > 0),
    "no bleaching": lambda made: bool(made["bleaching"] > 0),
    "molecules anywhere": lambda made: bool(made["structure"] != "uniform"),
}
"""The movies for which twins of a kind are wrong, if not for all."""


@dataclasses.dataclass(frozen=True)
class Prepared:
    """A movie in its folder, what was estimated of it, and how long that took (s)."""

    scope: Scope
    folder: Path
    camera: StackCamera
    known: MovieEstimates
    statistics: dict[str, float]
    seconds: float


def prepare(work: tuple[int, Path]) -> Prepared:
    """Make a movie and measure it as `twin` does."""
    number, root = work
    made, folder = scope(number), root / str(number)
    folder.mkdir(parents=True)
    path, truth = movie(made, folder)
    np.savez(folder / "truth.npz", **{name: truth[name] for name in ("frame", "x", "y")})
    stack = open_stack(path)
    known_camera = (
        {} if number % 8 in UNKNOWN else {"offset": made.offset, "photons_per_count": 1 / made.counts_per_electron}
    )
    camera = camera_of(stack, made.pixel, **known_camera)
    if not camera.in_photons:  # as a user would who is told so
        camera = camera_of(stack, made.pixel, made.offset, 1 / made.counts_per_electron)
    begun = time.perf_counter()
    known, seen = estimated(stack, camera, made.camera == "EMCCD", seed=number)
    seconds = time.perf_counter() - begun
    return Prepared(made, folder, camera, known, statistics_of(seen), seconds)


def look(work: tuple[Prepared, str, int]) -> dict[str, float]:
    """Simulate a twin, right or wrong by its kind, or make another movie of the same law; and look at it."""
    done, kind, number = work
    name = _folder_name(kind, number)
    if kind == SECOND:
        place = done.folder / name
        place.mkdir()
        path, truth = movie(done.scope, place, number)
        write_columns({column: truth[column] for column in ("frame", "x", "y")}, place / TRUTH)
        return statistics_of(seen_in(open_stack(path.rename(place / STACK)), done.camera))
    known = done.known.drawn(np.random.default_rng([done.scope.number, number]))
    known = WRONG[kind](known) if kind in WRONG else known
    simulate_folder(done.folder / name, known.dataset(name, done.folder), 1000 + number)
    return statistics_of(seen_in(open_stack(done.folder / name / STACK), done.camera))


def values(work: tuple[Prepared, str, Sequence[str], int]) -> list[list[float]]:
    """The Flat Metric in nm of each setting of a method, on the movie and then on the twins of the names given."""
    done, method, names, settings_tried = work
    rows = []
    with np.load(done.folder / "truth.npz") as held:
        courses = [(done.folder / "movie.tif", held["frame"], np.column_stack([held["x"], held["y"]]))]
    for name in names:
        table = fm.read(done.folder / name / TRUTH)
        courses.append((done.folder / name / STACK, table.frame, table.points(2)))
    for settings in even_settings(method, settings_tried):
        row = []
        for path, frame, points in courses:
            try:
                found = localize_stack(open_stack(path), participant(method, settings), done.camera)
            except fm.InputError:  # it refuses, and so finds nothing
                row.append(_LAM)
                continue
            made = fm.flat_metric(
                points, found.points(2), lam=_LAM, truth_frames=frame, pred_frames=found.frame, threads=1
            )
            row.append(made.value)
        rows.append(row)
    return rows


def run(
    numbers: Sequence[int], methods: Sequence[str], *, twins: int, settings: int, wrong: int, ablated: int
) -> list[dict[str, Any]]:
    """All that is measured, for each movie; the first `wrong` get wrong twins, and on those of the first `ablated` all
    programs run.
    """
    movies: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as place, ProcessPoolExecutor(thread_count(None)) as pool:
        started = time.perf_counter()
        done = list(pool.map(prepare, [(number, Path(place)) for number in numbers]))
        print(f"measured after {time.perf_counter() - started:.0f} s", flush=True)
        looks: list[tuple[Prepared, str, int]] = []
        for index, one in enumerate(done):
            kinds = ["twin", *([SECOND, *WRONG] if index < wrong else [])]
            looks += [(one, kind, number) for kind in kinds for number in range(1, twins + 1)]
        seen = list(pool.map(look, looks))
        print(f"looked at after {time.perf_counter() - started:.0f} s", flush=True)
        held: dict[tuple[int, str], list[dict[str, float]]] = {}
        for (one, kind, _), each in zip(looks, seen, strict=True):
            held.setdefault((one.scope.number, kind), []).append(each)
        work = []
        for index, one in enumerate(done):
            names = [_folder_name("twin", number) for number in range(1, twins + 1)]
            names += [_folder_name(SECOND, 1)] * (wrong > 0 and not ablated)
            if index < ablated:
                names += [_folder_name(kind, 1) for kind in WRONG]
            work += [(one, method, names, settings) for method in methods]
        # The slow ones first, so that all end together.
        order = sorted(range(len(work)), key=lambda k: (work[k][1] != "baseline", -work[k][0].known.density))
        parts = dict(zip(order, pool.map(values, [work[k] for k in order]), strict=True))
        print(f"scored after {time.perf_counter() - started:.0f} s", flush=True)
        for index, one in enumerate(done):
            rows = {
                kind: likeness(one.statistics, looked)
                for (number, kind), looked in held.items()
                if number == one.scope.number
            }
            movies.append(
                {
                    "scope": dataclasses.asdict(one.scope),
                    "name": one.scope.name,
                    "twins": twins,
                    "has_second": wrong > 0 and not ablated,
                    "seconds": one.seconds,
                    "estimates": one.known.to_dict(),
                    "likeness": {kind: {row.name: row.spreads for row in found} for kind, found in rows.items()},
                    "verdicts": {kind: verdict(found) for kind, found in rows.items()},
                    "values": {method: parts[index * len(methods) + place] for place, method in enumerate(methods)},
                }
            )
    return movies


def tables(movies: Sequence[Mapping[str, Any]]) -> str:
    """The tables in Markdown."""
    picks, second, settings, covered, off = [], [], [], [], []
    for one in movies:
        real, chosen, pick, own = _picked(one, slice(1, 1 + one["twins"]))
        picks.append(np.append(real, real[pick]) - real.min())
        settings += own
        if one.get("has_second"):
            again = np.array([row[1 + one["twins"]] for tried in one["values"].values() for row in tried])
            second.append(real[again.argmin()] - real.min())
        assert chosen.interval is not None
        covered.append(chosen.interval[0] <= real[pick] <= chosen.interval[1])
        off.append(abs(chosen.expected / real[pick] - 1))
    regret = np.array(picks)
    fixed = int(regret[:, :-1].mean(axis=0).argmin())
    usual, tuned = np.array(settings).T
    harmed, helped = (gain[gain > 0.1] for gain in (tuned - usual, usual - tuned))
    lines = [
        f"{len(movies)} movies, {regret.shape[1] - 1} programs with settings each, {movies[0]['twins']} twins.",
        "",
        "| regret of the pick, nm | median | mean | 90 % | most |",
        "|---|---|---|---|---|",
        _regrets("the best on the twins", regret[:, -1]),
        *([_regrets("the best on a second movie of the same law", np.array(second))] if second else []),
        _regrets("always the program that is best on average over these movies", regret[:, fixed]),
        _regrets("a random pick", regret[:, :-1].mean(axis=1)),
        "",
        "| distance to the best setting that was tried, nm | median | mean | 90 % | most |",
        "|---|---|---|---|---|",
        _regrets("defaults", usual),
        _regrets("best on the twins", tuned),
        "",
        f"Tuned on the twins, a program is worse than with its defaults in {len(harmed)} of {len(usual)} cases, by "
        f"{np.median(harmed):.1f} nm in the median and {np.max(harmed):.1f} nm at most; it is better in "
        f"{len(helped)}, by {np.median(helped):.1f} nm in the median and {np.max(helped):.1f} nm at most.",
        f"The interval of the expected Flat Metric holds that of the movie in {100 * np.mean(covered):.0f} %, and the "
        f"expected value is off by {100 * np.median(off):.0f} % in the median.",
        "",
        "| twins | alike | doubtful | unlike |",
        "|---|---|---|---|",
    ]
    for kind in dict.fromkeys(kind for one in movies for kind in one["verdicts"]):
        there = [one for one in movies if kind in one["verdicts"]]
        if kind in WRONG_WHERE:
            there = [one for one in there if WRONG_WHERE[kind](one["scope"])]
        found = [one["verdicts"][kind] for one in there]
        name = {"twin": "as estimated"}.get(kind, kind)
        lines.append(f"| {name} | " + " | ".join(str(found.count(v)) for v in ("alike", "doubtful", "unlike")) + " |")
    return "\n".join(lines)


def shown() -> str:
    """What the page shows of the last runs."""
    movies, wrong = (json.loads(path.read_text(encoding="utf-8")) for path in (RESULTS, ABLATIONS))
    return f"{tables(movies)}\n\nTwins that are wrong on purpose, to see which estimate matters. {ablations(wrong)}"


def ablations(movies: Sequence[Mapping[str, Any]]) -> str:
    """What each wrong estimate costs, with one twin, as a table in Markdown."""
    lines = [
        f"{len(movies)} movies, {sum(map(len, movies[0]['values'].values()))} programs with settings each, one twin.",
        "",
        "| twin | distance to the best setting, nm: median, mean, 90 % | regret of the pick, nm: median, mean, 90 % "
        "| expected value too high by, median |",
        "|---|---|---|---|",
    ]
    for place, name in enumerate(["as estimated", *WRONG]):
        tuned, picked, off = [], [], []
        for one in movies:
            real, chosen, pick, own = _picked(one, slice(1 + place, 2 + place))
            picked.append(real[pick] - real.min())
            off.append(chosen.expected / real[pick] - 1)
            tuned += [distance for _, distance in own]
        cells = [", ".join(f"{v:.1f}" for v in _summary(np.array(values))) for values in (tuned, picked)]
        lines.append(f"| {name} | {cells[0]} | {cells[1]} | {100 * np.median(off):+.0f} % |")
    return "\n".join(lines)


def _picked(one: Mapping[str, Any], twins: slice) -> tuple[FloatArray, Contender, int, list[tuple[float, float]]]:
    """What all programs reach on a movie (nm), the pick by some columns of twins and its place among them, and of each
    method how far its defaults and what the twins make of it are from its best settings.
    """
    rows = [(method, place, row) for method, tried in one["values"].items() for place, row in enumerate(tried)]
    real = np.array([row[0] for _, _, row in rows])
    chosen = choice(
        [
            Contender(f"{k:04}", method, {"setting": place} if place else {}, tuple(row[twins]), 0.0, 0.0)
            for k, (method, place, row) in enumerate(rows)
        ]
    )
    places = [(each.method, int(each.program)) for each in chosen.candidates]
    own = []
    for method in one["values"]:
        all_of = [real[k] for k, (name, _, _) in enumerate(rows) if name == method]
        best = next(k for name, k in places if name == method)
        own.append((all_of[0] - min(all_of), real[best] - min(all_of)))
    return real, chosen.best, places[0][1], own


def _folder_name(kind: str, number: int) -> str:
    return f"{kind.replace(' ', '-').replace('%', 'percent')}-{number}"


def _summary(values: FloatArray) -> tuple[float, float, float]:
    return float(np.median(values)), float(np.mean(values)), float(np.quantile(values, 0.9))


def _regrets(name: str, values: FloatArray) -> str:
    numbers = (np.median(values), np.mean(values), np.quantile(values, 0.9), np.max(values))
    return f"| {name} | " + " | ".join(f"{number:.1f}" for number in numbers) + " |"


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(prog="python -m proofs.twins", description=__doc__)
    parser.add_argument("--movies", default="0:48:1", help="first:end:step")
    parser.add_argument("--methods", default="")
    parser.add_argument("--twins", type=int, default=TWINS)
    parser.add_argument("--settings", type=int, default=SETTINGS)
    parser.add_argument("--wrong", type=int, default=0)
    parser.add_argument("--ablated", type=int, default=0)
    parser.add_argument("--looks", action="store_true", help="look again at twins, and keep what programs reached")
    parser.add_argument("--out", default=str(RESULTS))
    options = parser.parse_args()
    first, end, step = map(int, options.movies.split(":"))
    methods = [] if options.looks else options.methods.split(",") if options.methods else usable_methods()
    counts = {name: getattr(options, name) for name in ("twins", "settings", "wrong", "ablated")}
    made = run(range(first, end, step), methods, **counts)
    if options.looks:
        reached = {one["name"]: one["values"] for one in json.loads(RESULTS.read_text(encoding="utf-8"))}
        made = [{**one, "values": reached[one["name"]]} for one in made]
    write_text(json.dumps(made) + "\n", Path(options.out))
    if options.ablated:
        write_text(json.dumps([{"name": one["name"], "values": one["values"]} for one in made]) + "\n", ABLATIONS)
    if Path(options.out) == RESULTS or options.ablated:
        show(shown(), PAGE, PROVE)
    print(shown())


def usable_methods() -> list[str]:
    """Those that find spots of an unknown look in a plane."""
    return [name for name, method in METHODS.items() if method.available and method.shape in (None, "depth")]


if __name__ == "__main__":
    main()
