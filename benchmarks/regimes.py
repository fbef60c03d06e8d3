"""The regimes: what is measured against what, and the bar each must clear."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from benchmarks import files, peers, problems
from benchmarks.peers import Answer
from benchmarks.tables import Row
from tests.problems import FAR_SHAPES, Problem


def median(run: Callable[[], Answer], repeats: int) -> Answer:
    answers = [run() for _ in range(repeats)]
    return answers[0][0], statistics.median(seconds for _, seconds in answers)


def agree(ours: float, theirs: float, what: str) -> None:
    if abs(ours - theirs) > 1e-9 * max(abs(ours), abs(theirs)):
        raise AssertionError(f"{what}: ours {ours:.17g}, theirs {theirs:.17g}")


def framewise(
    regime: str,
    what: str,
    problem: Problem,
    peers_and_bars: list[tuple[str, Callable[[list[Problem]], Answer], int | None, float | None]],
) -> Iterator[Row]:
    """Frames in one call against a peer frame by frame; slow peers get a sample, scaled up to all frames."""
    value, ours = median(partial(peers.flatmetric, problem), 7)
    frames = problem.frames()
    for name, solve, sample, bar in peers_and_bars:
        some = frames if sample is None else problem.frames(sample)
        theirs, seconds = median(partial(solve, some), 1 if sample else 3)
        if sample is None:
            agree(value, theirs, f"{regime} {name}")
        else:
            agree(
                sum(
                    peers.flatmetric(frame)[0] if len(frame.truth) else problem.lam * len(frame.pred) for frame in some
                ),
                theirs,
                f"{regime} {name}",
            )
        scaled = seconds * len(frames) / len(some)
        yield Row(regime, what, problem.size, ours, name, scaled, bar)


def regime_a() -> Iterator[Row]:
    yield from framewise(
        "A",
        "frames of the paper",
        problems.paper_frames(),
        [
            ("SciPy assignment", peers.scipy_assignment, None, 10),
            ("POT emd", peers.pot_emd, 300, 60),
            ("dense LP (HiGHS)", peers.highs_lp, 30, None),
            ("Stone Soup GOSPA", peers.stone_soup, 20, None),
        ],
    )


def regime_b() -> Iterator[Row]:
    yield from framewise(
        "B", "sparse frames", problems.sparse_frames(), [("SciPy assignment", peers.scipy_assignment, None, 20)]
    )


def regime_c() -> Iterator[Row]:
    for program in ("picasso-gausslq", "picasso-gaussmle", "trackpy"):
        problem = problems.bundled_tubes(program)
        if problem is not None:
            yield from framewise(
                "C", f"bundled tubes, {program}", problem, [("SciPy assignment", peers.scipy_assignment, None, 10)]
            )


def regime_d() -> Iterator[Row]:
    problem = problems.pooled(100_000, per_um2=500)
    value, ours = median(partial(peers.flatmetric, problem), 3)
    theirs, seconds = peers.or_tools(problem)
    agree(value, theirs, "D")
    yield Row("D", "pooled, 500 per um2", problem.size, ours, "OR-tools solve", seconds, 6)


def against_listing(regime: str, what: str, problem: Problem, bar: float, repeats: int = 3) -> Iterator[Row]:
    _, ours = median(partial(peers.flatmetric, problem), repeats)
    listing = statistics.median(peers.list_pairs(problem)[1] for _ in range(repeats))
    yield Row(regime, what, problem.size, ours, "SciPy KD-tree listing", listing, bar, at_most=True)


def regime_e() -> Iterator[Row]:
    yield from against_listing("E", "pooled, 500 per um2", problems.pooled(1_000_000, per_um2=500), 1.0)


def regime_f() -> Iterator[Row]:
    yield from against_listing("F", "pooled, 5000 per um2", problems.pooled(100_000, per_um2=5000), 1.0)


def regime_g() -> Iterator[Row]:
    problem = problems.pooled(20_000, per_um2=500, weighted=True)
    value, ours = median(partial(peers.flatmetric, problem), 3)
    theirs, seconds = median(partial(peers.pot_sparse, problem), 3)
    agree(value, theirs, "G")
    yield Row("G", "pooled, log-normal weights", problem.size, ours, "POT sparse emd", seconds, 10)
    large = problems.pooled(100_000, per_um2=500, weighted=True)
    yield Row("G", "the same, larger", large.size, peers.flatmetric(large)[1], "not run", float("nan"), None)


def regime_h() -> Iterator[Row]:
    for what, problem in (
        ("filaments, result drawn apart", problems.filaments(100_000)),
        ("filaments, result from the truth", problems.filaments(100_000, copies=True)),
    ):
        value, ours = median(partial(peers.flatmetric, problem), 3)
        theirs, seconds = peers.or_tools(problem)
        agree(value, theirs, "H")
        yield Row("H", what, problem.size, ours, "OR-tools solve", seconds, 4)


def regime_i() -> Iterator[Row]:
    problem = problems.independent_clouds(5000, 5000)
    value, ours = median(partial(peers.flatmetric, problem), 3)
    theirs, seconds = peers.pot_dense(problem)
    agree(value, theirs, "I")
    yield Row("I", "Wasserstein", problem.size, ours, "POT dense simplex", seconds, 1)


def regime_j() -> Iterator[Row]:
    problem = problems.independent_clouds(2000, 1600)
    value, ours = median(partial(peers.flatmetric, problem), 5)
    for name, solve in (("POT dense simplex", peers.pot_dense), ("SciPy assignment", peers.scipy_dense)):
        theirs, seconds = median(partial(solve, problem), 3)
        agree(value, theirs, f"J {name}")
        yield Row("J", "Wasserstein, unequal", problem.size, ours, name, seconds, 1)


def many_dimensions() -> Iterator[Row]:
    """Points anywhere in a space of many dimensions, where trees rule out little."""
    rng = np.random.default_rng(8)
    for dims in (4, 6, 10):
        problem = Problem(rng.uniform(0, 1000, (2500, dims)), rng.uniform(0, 1000, (2500, dims)), lam=1e5)
        value, ours = median(partial(peers.flatmetric, problem), 5)
        theirs, seconds = median(partial(peers.scipy_dense, problem), 3)
        agree(value, theirs, f"{dims} dimensions")
        yield Row("many dimensions", f"{dims} dimensions", problem.size, ours, "SciPy assignment", seconds, 1)


def regime_k() -> Iterator[Row]:
    for what, problem in (
        ("frames of the paper", problems.paper_frames()),
        ("bundled tubes", problems.bundled_tubes("picasso-gausslq")),
    ):
        if problem is None:
            continue
        # Two threads; taken in turns, so that a passing load on the machine meets both.
        one, two = zip(
            *((peers.flatmetric(problem, 1)[1], peers.flatmetric(problem, 2)[1]) for _ in range(15)), strict=True
        )
        yield Row("K", what, problem.size, statistics.median(two), "one thread", statistics.median(one), 1.85)
    for what, problem, repeats in (
        ("pooled, 500 per um2", problems.pooled(1_000_000, per_um2=500), 3),
        ("filaments, result drawn apart", problems.filaments(1_000_000), 1),
    ):
        one, two = zip(
            *((peers.flatmetric(problem, 1)[1], peers.flatmetric(problem, 2)[1]) for _ in range(repeats)), strict=True
        )
        yield Row("K", what, problem.size, statistics.median(two), "one thread", statistics.median(one), 1.7)


def regime_l() -> Iterator[Row]:
    problem = problems.pooled(10_000_000, per_um2=500)
    yield from against_listing("L", "pooled, 500 per um2", problem, 1.2, repeats=1)


def reading() -> Iterator[Row]:
    for what, digits in (("CSV, 4 decimals", 4), ("CSV, all digits", None)):
        with files.written(files.localizations(1_000_000), digits) as path:
            # In turns, as the machine's speed wanders.
            ours, theirs = zip(*((files.ours(path), files.pandas(path)) for _ in range(7)), strict=True)
        seconds, pandas = statistics.median(ours), statistics.median(theirs)
        yield Row("read", what, "1M rows", seconds, "pandas", pandas, 2, at_most=True)


def scoring() -> Iterator[Row]:
    files.compile_modules()
    with files.truth_and_result() as (truth, result):
        ours, theirs = zip(
            *((files.score_command(truth, result), files.pandas(truth) + files.pandas(result)) for _ in range(9)),
            strict=True,
        )
    size = "1M x 0.9M rows, 20 000 frames"
    seconds = statistics.median(ours)
    yield Row(
        "score", "the whole command", size, seconds, "pandas reads both", statistics.median(theirs), 5, at_most=True
    )
    yield Row("score", "the whole command", size, seconds, "a second", 1, 1, at_most=True)
    # 11.6 s for 60 000 rows in 3000 frames, measured on this kind of machine.
    decode = 11.6 / 60_000 * 1_900_000
    yield Row("score", "the whole command, by rows", size, seconds, "DECODE's evaluation, scaled", decode, 50)


def importing() -> Iterator[Row]:
    """All public names, loaded in a process that has numpy, against loading numpy."""
    files.compile_modules()
    seconds = files.import_seconds("import numpy", "from flatmetric import *")
    yield Row(
        "import", "all public names", "", seconds, "numpy", files.import_seconds("", "import numpy"), 1.3, at_most=True
    )


def intervals() -> Iterator[Row]:
    """Intervals of all metrics against summing resampled frames with numpy, ten resamples scaled to all."""
    ours, theirs, size = files.intervals_seconds()
    yield Row("intervals", "intervals of every metric", size, ours, "numpy, 2000 resamples", theirs, 5)


def simulation() -> Iterator[Row]:
    """A data set of the challenge, a tenth of its frames scaled to all, against the two minutes that it may take."""
    seconds = files.simulate_seconds()
    yield Row("simulate", "MT1.N1.LD", "20 000 frames", seconds, "two minutes", 120, 1, at_most=True)


def page() -> Iterator[Row]:
    """The page of a large score in a browser, against the three seconds that a person waits."""
    seconds = files.first_paint_seconds()
    if seconds is not None:
        yield Row("page", "first paint", "1M molecules", seconds, "three seconds", 3, 1, at_most=True)


def paper() -> Iterator[Row]:
    """The surfaces of Figure 1 against the dense linear program, timed on a sample."""
    from flatmetric.paper.surfaces import SurfaceExperiment, dense_lp_seconds, surfaces

    settings = SurfaceExperiment()
    seconds = dense_lp_seconds(settings)
    assert seconds is not None
    size = f"{settings.problems} problems"
    yield Row(
        "paper", "surfaces of Figure 1", size, surfaces(settings).solve_seconds, "dense LP (HiGHS)", seconds, None
    )


def growth() -> Iterator[Row]:
    """Seconds against the number of points; the exponent is fitted in logarithms and shown as the last row of each."""
    makers: dict[str, Callable[[int], Problem]] = {"D": partial(problems.pooled, per_um2=500), "H": problems.filaments}
    for what, make in makers.items():
        sizes = [10_000, 30_000, 100_000, 300_000, 1_000_000]
        seconds = []
        for n in sizes:
            problem = make(n)
            seconds.append(median(partial(peers.flatmetric, problem), 3 if n <= 100_000 else 1)[1])
            yield Row("growth", f"as {what}", problem.size, seconds[-1], "", float("nan"), None)
        exponent = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
        yield Row("growth", f"as {what}: seconds ~ N^{exponent:.2f}", "10k to 1M", seconds[-1], "", float("nan"), None)


def far_apart(shape: str, n: int) -> Problem:
    """Two clouds of one shape and a lam wider than both: Wasserstein distances."""
    truth, pred = FAR_SHAPES[shape](np.random.default_rng(6), n)
    return Problem(truth, pred, lam=1e5)


def far() -> Iterator[Row]:
    """Mass that must travel far past others, against a dense simplex that gets its costs for nothing."""
    for n, bar in ((2000, 3), (5000, 5)):
        for shape in FAR_SHAPES:
            problem = far_apart(shape, n)
            value, ours = median(partial(peers.flatmetric, problem), 3)
            theirs, seconds = median(partial(peers.pot_dense, problem), 3 if n == 2000 else 1)
            agree(value, theirs, shape)
            least = 3 if shape == "four dimensions" else bar  # where trees rule out little
            yield Row("far", shape, problem.size, ours, "POT dense simplex", seconds, least)
    for shape in FAR_SHAPES:
        problem = far_apart(shape, 20_000)
        _, seconds = peers.pot_dense(far_apart(shape, 6000))
        ours = peers.flatmetric(problem)[1]
        yield Row("far", shape, problem.size, ours, "POT dense simplex, 6000 x 6000", seconds, 1, at_most=True)
    squeezed = far_apart("squeezed", 100_000)
    ours = peers.flatmetric(squeezed)[1]
    yield Row("far", "squeezed", squeezed.size, ours, "three minutes", 180, 1, at_most=True)


def far_growth() -> Iterator[Row]:
    """Seconds against the number of points where mass travels far; the bar is for the exponent."""
    sizes = [2000, 5000, 20_000, 50_000]
    for shape in FAR_SHAPES:
        seconds = [peers.flatmetric(far_apart(shape, n))[1] for n in sizes]
        steepest = max(np.diff(np.log(seconds)) / np.diff(np.log(sizes)))
        yield Row(
            "far growth",
            f"{shape}: at most N^{steepest:.2f}",
            "2000 to 50 000",
            steepest,
            "N^2.2",
            2.2,
            1,
            at_most=True,
        )


def coincident() -> Iterator[Row]:
    """Points on four places, and on a lattice, against points anywhere."""
    rng = np.random.default_rng(7)
    truth, pred = rng.uniform(0, 1000, (10_000, 2)), rng.uniform(0, 1000, (10_000, 2))
    for lam in (10.0, 100.0, 1e5):
        places = Problem(np.round(truth / 1000) * 1000, np.round(pred / 1000) * 1000, lam)
        ours = median(partial(peers.flatmetric, places), 5)[1]
        yield Row("places", f"four places, lam {lam:g}", places.size, ours, "0.05 s", 0.05, 1, at_most=True)
        anywhere = median(partial(peers.flatmetric, Problem(truth, pred, lam)), 3)[1]
        for what, step in (("whole nm", 1), ("pixels of 100 nm", 100)):
            rounded = Problem(np.round(truth / step) * step, np.round(pred / step) * step, lam)
            ours = median(partial(peers.flatmetric, rounded), 3)[1]
            yield Row(
                "places", f"{what}, lam {lam:g}", rounded.size, ours, "points anywhere", anywhere, 1.2, at_most=True
            )


def whole_curve() -> Iterator[Row]:
    """All breakpoints of the curve against one solve at its end."""
    for what, problem in (
        ("pooled, 500 per um2", problems.pooled(100_000, per_um2=500)),
        ("pooled, 5000 per um2", problems.pooled(100_000, per_um2=5000)),
        ("filaments", problems.filaments(100_000)),
    ):
        ours = peers.flatmetric_curve(problem)
        solve = median(partial(peers.flatmetric, problem), 3)[1]
        yield Row("curve", what, problem.size, ours, "one solve at lam_max", solve, 5, at_most=True)


REGIMES: dict[str, Callable[[], Iterator[Row]]] = {
    "A": regime_a,
    "B": regime_b,
    "C": regime_c,
    "D": regime_d,
    "E": regime_e,
    "F": regime_f,
    "G": regime_g,
    "H": regime_h,
    "I": regime_i,
    "J": regime_j,
    "K": regime_k,
    "L": regime_l,
    "read": reading,
    "score": scoring,
    "import": importing,
    "intervals": intervals,
    "simulate": simulation,
    "page": page,
    "paper": paper,
    "growth": growth,
    "far": far,
    "far growth": far_growth,
    "many dimensions": many_dimensions,
    "places": coincident,
    "curve": whole_curve,
}
