"""Worlds that share nothing with the package's simulator: other structures, blinking, errors and losses, no images.

Which molecules there are, when they shine and how each is seen is new in every trial; the structure stays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import flatmetric as fm
from flatmetric._arrays import FloatArray
from proofs.movies import measured

_SIDE = 8000.0  # nm, of the field
_STRUCTURE = 4242  # seed


@dataclass(frozen=True)
class World:
    """A structure, how long molecules stay on (frames), how many there are, and how two programs see them.

    `recall` is that of the first program in the middle of the field, and falls by `uneven` to its edge; the second
    finds `worse` times as many. `merge` is the distance, nm, within which those that shine together are one detection.
    """

    structure: str
    molecules: int
    frames: int = 400
    on: float = 2.0
    returns: float = 1.0
    error: float = 20.0
    heavy: bool = False
    recall: float = 0.85
    uneven: float = 0.0
    worse: float = 0.9
    merge: float = 0.0
    false: float = 0.2
    ids: bool = True


_CLUSTERS = World("clusters", 600, merge=150.0)
WORLDS = {
    "uniform, 1000 molecules, on for 1": World("uniform", 1000, on=1.0),
    "uniform, 3000 molecules, on for 5": World("uniform", 3000, on=5.0),
    "uniform, 30 molecules, on for 20": World("uniform", 30, on=20.0),
    "filaments, 300 molecules, on for 3, heavy tails": World("filaments", 300, on=3.0, heavy=True),
    "filaments, 1000 molecules, on for 20, neighbours merge": World("filaments", 1000, on=20.0, merge=200.0),
    "filaments, 300 molecules, returning, uneven recall": World("filaments", 300, returns=3.0, uneven=0.6),
    "clusters, 600 molecules, neighbours merge": _CLUSTERS,
    "clusters, 100 molecules, on for 10, heavy tails": replace(_CLUSTERS, molecules=100, on=10.0, heavy=True),
}
WITHOUT_IDS = {
    "no ids, on for 2, 3000 frames": World("uniform", 4000, frames=3000, ids=False),
    "no ids, on for 5, returning, 1000 frames": World("uniform", 500, frames=1000, on=5.0, returns=3.0, ids=False),
}
CROWDED = "filaments, 1000 molecules, on for 20, neighbours merge"
"""Where neighbours decide most of what is found, which the intervals of molecules allow for in part alone."""


def _places(world: World, count: int, rng: np.random.Generator) -> FloatArray:
    """Positions on a structure that is the same for every trial."""
    fixed = np.random.default_rng(_STRUCTURE)
    if world.structure == "filaments":
        ends, curve = fixed.uniform(0, _SIDE, (6, 2, 2)), fixed.normal(0, 600, (6, 2))
        line, along = rng.integers(6, size=count), rng.uniform(0, 1, count)[:, None]
        straight = ends[line, 0] * (1 - along) + ends[line, 1] * along
        return np.asarray(straight + curve[line] * np.sin(np.pi * along) + rng.normal(0, 12, (count, 2)))
    if world.structure == "clusters":
        middles, size = fixed.uniform(0, _SIDE, (25, 2)), fixed.uniform(30, 150, 25)
        cluster = rng.integers(25, size=count)
        return np.asarray(middles[cluster] + rng.normal(0, 1, (count, 2)) * size[cluster, None])
    return rng.uniform(0, _SIDE, (count, 2))


def _shining(world: World, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Molecule and frame of each appearance."""
    times = rng.geometric(1 / world.returns, count)
    molecule = np.repeat(np.arange(count), times)
    length = rng.geometric(1 / world.on, len(molecule))
    # A molecule that returns does so soon, as real ones do.
    first = np.repeat(rng.integers(1, world.frames + 1, count), times) + rng.integers(0, 60, len(molecule)) * (
        world.returns > 1
    )
    frame = np.repeat(first, length) + np.arange(length.sum()) - np.repeat(length.cumsum() - length, length)
    molecule, inside = np.repeat(molecule, length), frame <= world.frames
    both = np.unique(np.column_stack([molecule[inside], frame[inside]]), axis=0)
    return both[:, 0], both[:, 1]


def made(world: World, seed: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The truth of a trial, and what two programs find."""
    rng = np.random.default_rng([seed, 77])
    count = max(3, int(rng.poisson(world.molecules)))
    place, bright = _places(world, count, rng), rng.lognormal(0, 0.4, count)
    molecule, frame = _shining(world, count, rng)
    xy = place[molecule]
    if not world.ids:  # rows at the same place would tell, too
        xy = xy + rng.normal(0, 1, xy.shape)
    truth = {"frame": frame, "x": xy[:, 0], "y": xy[:, 1]} | ({"id": molecule} if world.ids else {})
    away = np.abs(xy / _SIDE - 0.5).max(axis=1) * 2
    chance = world.recall * (1 - world.uneven * away)
    luck, own = rng.uniform(size=len(frame)), rng.normal(size=count)  # some molecules are dimmer than others
    shape = rng.standard_t(3, (len(frame), 2)) / np.sqrt(3) if world.heavy else rng.normal(size=(len(frame), 2))
    results = []
    for share, wider in ((1.0, 1.0), (world.worse, 1.1)):
        seen = luck < np.clip(chance * share + 0.1 * own[molecule], 0, 1)
        at = xy[seen] + (world.error * wider / np.sqrt(bright[molecule[seen]]))[:, None] * shape[seen]
        found = _merged(frame[seen], at, world.merge)
        extra = int(rng.poisson(world.false * world.frames * 0.3))
        results.append(
            {
                "frame": np.append(found[0], rng.integers(1, world.frames + 1, extra)),
                "x": np.append(found[1][:, 0], rng.uniform(0, _SIDE, extra)),
                "y": np.append(found[1][:, 1], rng.uniform(0, _SIDE, extra)),
            }
        )
    return truth, results


def _merged(frame: np.ndarray, at: FloatArray, within: float) -> tuple[np.ndarray, FloatArray]:
    """Detections of a frame that are close to each other become one in their middle."""
    if within == 0:
        return frame, at
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import KDTree

    pairs = KDTree(np.column_stack([at, frame * 10 * _SIDE])).query_pairs(within, output_type="ndarray")
    graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(len(at), len(at)))
    group = connected_components(graph, directed=False)[1]
    size = np.bincount(group)
    first = np.unique(group, return_index=True)[1]
    middle = np.column_stack([np.bincount(group, column) / size for column in at.T])
    return frame[first], middle


def trial(work: tuple[str, int]) -> tuple[FloatArray, FloatArray]:
    """One trial of a world: values and intervals as those of a movie."""
    name, seed = work
    truth, results = made((WORLDS | WITHOUT_IDS)[name], seed)
    protocol = fm.Protocol(dim=2)
    return measured([fm.score(truth, one, protocol=protocol, threads=1, check=False) for one in results])
