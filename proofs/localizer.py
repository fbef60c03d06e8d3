"""How good the built-in localizer is: `python -m proofs.localizer`.

On single spots, how far its errors lie above the Cramer-Rao bound, over depth; on the molecules of data sets, how many
it finds and how many of its finds are true, by density. The tables go into docs/how-to/challenge.md.
"""

from __future__ import annotations

import dataclasses
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np

import flatmetric as fm
from benchmarks.tables import PROVE, show
from flatmetric._arrays import FloatArray
from flatmetric._validation import thread_count
from flatmetric.localizers.baseline import DEFAULTS, localize
from flatmetric.localizers.shapes import KnownShape, Shape
from flatmetric.simulation.datasets import MODALITIES, Dataset, named
from flatmetric.simulation.movie import images, molecules
from flatmetric.simulation.optics import Optics, psf_of, spots

PAGE = "docs/how-to/challenge.md"
DEPTHS = (-600.0, -450.0, -300.0, -150.0, 0.0, 150.0, 300.0, 450.0, 600.0)
DENSITIES = (0.03, 0.1, 0.3, 0.6, 1.0)
PHOTONS, BACKGROUND = 5000.0, 100.0
SPOTS = 400
MOST = 1.1
"""Times the bound, for every coordinate: the bar."""


@dataclass(frozen=True)
class AtDepth:
    """Errors in x, y, z over their bounds, all nm; z is None where the spot does not tell it."""

    modality: str
    z: float
    bounds: tuple[float, float, float | None]
    ratios: tuple[float, float, float | None]


def known_shape(modality: str) -> tuple[KnownShape, Optics]:
    """How spots of a modality look, without what moves them sideways."""
    pupil = dataclasses.replace(MODALITIES[modality], wobble_x=(), wobble_y=())
    psfs = [psf_of(pupil, 100.0, channel) for channel in range(len(pupil.planes))]
    return KnownShape(psfs, round_spot=pupil.is_round), pupil


def single_spots(optics: Optics, xyz: FloatArray, photons: float, background: float) -> FloatArray:
    """One molecule in each image of 40 x 40 pixels of 100 nm, with Poisson noise."""
    random = np.random.default_rng(1)
    lit = [spots(at[None], np.array([photons]), optics, pixels=40, pixel_size=100.0) for at in xyz]
    channels = lit[0].shape[1] // lit[0].shape[0]
    return np.asarray(random.poisson(np.array(lit) + background / channels), dtype=np.float64)


def bound(shape: Shape, form: float, photons: float, background: float) -> FloatArray:
    """Cramer-Rao bounds of x, y and form in pixels, with photons and background unknown as well."""
    at = np.array([[0.0, 0.0, photons, form]])
    model = shape.light(at, 12)[0] + background / shape.channels
    slopes = np.column_stack([shape.slopes(at, 12)[0], np.ones(len(model))])
    covariance = np.linalg.inv(slopes.T @ (slopes / model[:, None]))
    return np.asarray(np.sqrt(np.diag(covariance)[[0, 1, 3]]))


def at_depth(modality: str, z: float) -> AtDepth:
    """The baseline on single spots at a depth, anywhere within a pixel."""
    shape, optics = known_shape(modality)
    at = np.random.default_rng(7).uniform(-50, 50, (SPOTS, 2)) + 2050
    xyz = np.column_stack([at, np.full(SPOTS, z)])
    found = localize(single_spots(optics, xyz, PHOTONS, BACKGROUND), DEFAULTS, shape)
    off = 100 * (np.column_stack([found.x, found.y]) + 0.5) - xyz[found.image, :2]
    near = np.hypot(*off.T) < 250
    errors = list(off[near].T) + ([] if found.z is None else [found.z[near] - z])
    depth = (
        max(abs(z), 1.0) if shape.least_is_real else z
    )  # of a round spot |z| alone is told, and in focus not even that
    least = 100 * bound(shape, depth / 100, PHOTONS, BACKGROUND)
    # Of the many: the middle 68 %, which a spot that was taken for two does not change.
    spread = [float(np.diff(np.quantile(one, [0.16, 0.84]))[0]) / 2 for one in errors]
    ratios = [spread[axis] / float(least[axis]) if axis < len(spread) else None for axis in range(3)]
    bounds = [float(least[axis]) if axis < len(spread) else None for axis in range(3)]
    return AtDepth(modality, z, tuple(bounds), tuple(ratios))  # type: ignore[arg-type]


@dataclass(frozen=True)
class AtDensity:
    """How much is found at a density of molecules per um2."""

    density: float
    flat_metric: float
    recall: float
    precision: float
    rmse: float


def at_density(density: float) -> AtDensity:
    """The baseline on the microtubules of N1, about 1500 molecules, in 2D."""
    dataset: Dataset = dataclasses.replace(named("MT0.N1.LD"), density=density)
    dataset = dataset.with_frames(int(max(40, 1500 / dataset.per_frame)))
    truth = molecules(dataset, seed=3)
    counts = np.stack(list(images(truth, dataset, seed=3)))
    shape, _ = known_shape("2D")
    light = (counts.astype(np.float64) - dataset.camera.offset) * dataset.camera.photons_per_count
    found = localize(light, DEFAULTS, shape)
    pred = fm.Localizations(frame=found.image + 1, x=(found.x + 0.5) * 100, y=(found.y + 0.5) * 100)
    score = fm.score(truth, pred, protocol="challenge2016", dim=2, fov=dataset.width, check=False)
    values = [score.get(f"challenge.{name}") for name in ("recall", "precision", "rmse_xy")]
    return AtDensity(density, float(score.flat_metric.value or 0), *(float(value or 0) for value in values))


def tables(depths: list[AtDepth], densities: list[AtDensity]) -> str:
    """Both tables, as Markdown."""

    def shown(one: AtDepth) -> str:
        return " / ".join("-" if ratio is None else f"{ratio:.2f}" for ratio in one.ratios)

    modalities = list(MODALITIES)
    rows = [f"| z [nm] | {' | '.join(modalities)} |", "|---" * (len(modalities) + 1) + "|"]
    for z in DEPTHS:
        cells = [shown(one) for name in modalities for one in depths if (one.modality, one.z) == (name, z)]
        rows.append(f"| {z:.0f} | {' | '.join(cells)} |")
    rows += ["", "| molecules per um2 | Flat Metric [nm] | recall [%] | precision [%] | RMSE [nm] |", "|---" * 5 + "|"]
    for one in densities:
        shares = f"{100 * one.recall:.1f} | {100 * one.precision:.1f}"
        rows.append(f"| {one.density:g} | {one.flat_metric:.1f} | {shares} | {one.rmse:.1f} |")
    return "\n".join(rows)


def main() -> int:
    """Measure, write the tables, and return 1 if a bar is missed."""
    places = [(modality, z) for modality in MODALITIES for z in DEPTHS]
    with ProcessPoolExecutor(thread_count(None)) as pool:
        depths = list(pool.map(at_depth, *zip(*places, strict=True)))
        densities = list(pool.map(at_density, DENSITIES))
    show(tables(depths, densities), PAGE, PROVE)
    missed = 0
    for one in depths:
        for axis, ratio in zip("xyz", one.ratios, strict=True):
            if ratio is not None and ratio > MOST:
                missed += 1
                print(f"{one.modality} at {one.z:.0f} nm: {axis} {ratio:.2f} times its bound (bar {MOST})")
    print(tables(depths, densities))
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
