"""Programs of others, on isolated molecules: no bias, axes and half pixels right, and the sign of z."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from flatmetric.errors import InputError
from flatmetric.localizers.base import usual
from flatmetric.localizers.beads import PER_PLANE, bead_images
from flatmetric.localizers.registry import METHODS
from flatmetric.localizers.shapes import KnownShape
from flatmetric.simulation.datasets import pupil_of
from flatmetric.simulation.optics import Gaussian, Optics, psf_of, spots
from flatmetric.simulation.pupil import Pupil
from tests.scenes import with_programs

ASTIGMATIC = dataclasses.replace(pupil_of("AS"), wobble_x=(), wobble_y=())
FITTING = ("baseline", "daofind-psf", "daostorm-2d", "daostorm-2d-fixed", "picasso-lq", "picasso-mle")
IN_DEPTH = ("baseline", "daostorm-3d", "picasso-lq-3d", "picasso-mle-3d")


@pytest.fixture(scope="module")
def shape() -> KnownShape:
    return KnownShape([psf_of(ASTIGMATIC, 100.0, 0)], round_spot=False)


def images(xyz: np.ndarray, optics: Optics) -> np.ndarray:
    """One molecule in each image."""
    random = np.random.default_rng(5)
    lit = [spots(at[None], np.array([9000.0]), optics, pixels=48, pixel_size=100.0) for at in xyz]
    return random.poisson(15 + np.array(lit)).astype(np.float64)


def places(count: int, depth: float = 0.0) -> np.ndarray:
    """Anywhere within a pixel, and not the same in x and y."""
    random = np.random.default_rng(3)
    return np.column_stack(
        [1750 + random.uniform(0, 100, count), 3050 + random.uniform(0, 100, count), np.full(count, depth)]
    )


@pytest.mark.parametrize("name", with_programs(FITTING))
def test_a_fit_has_no_bias(name: str) -> None:
    xyz = places(150)
    found = METHODS[name].run(images(xyz, Gaussian()), usual(METHODS[name].settings))
    off = np.column_stack([(found.x + 0.5) * 100, (found.y + 0.5) * 100]) - xyz[found.image, :2]
    near = np.hypot(*off.T) < 100
    assert len(np.unique(found.image[near])) == near.sum() > 0.9 * len(near), "at most one in each image"
    assert near.sum() > 0.9 * len(xyz)
    assert np.abs(off[near].mean(axis=0)).max() < 2
    assert off[near].std(axis=0).max() < 12


@pytest.mark.parametrize("depth", [-150.0, 0.0, 250.0])
@pytest.mark.parametrize("name", with_programs(IN_DEPTH))
def test_depth_by_astigmatism_has_its_sign_and_x_and_y_no_bias(name: str, depth: float, shape: KnownShape) -> None:
    xyz = places(60, depth)
    method = METHODS[name]
    found = method.run(images(xyz, ASTIGMATIC), usual(method.settings), shape=shape)
    assert found.z is not None and len(np.unique(found.image)) > 50
    off = np.column_stack([(found.x + 0.5) * 100, (found.y + 0.5) * 100]) - xyz[found.image, :2]
    near = np.hypot(*off.T) < 100
    assert near.mean() > 0.9
    assert np.abs(np.median(off[near], axis=0)).max() < 2
    assert abs(np.median(found.z[near]) - depth) < 40


@pytest.mark.parametrize("name", with_programs(name for name, method in METHODS.items() if method.shape == "needed"))
def test_depth_is_refused_where_nothing_tells_it(name: str) -> None:
    settings, dark = usual(METHODS[name].settings), np.full((1, 32, 32), 10.0)
    with pytest.raises(InputError, match=r"which is not known here; give beads= and bead_step="):
        METHODS[name].run(dark, settings)
    psf = psf_of(Pupil(), 100.0, 0)
    for useless in (KnownShape([psf], round_spot=True), KnownShape([psf, psf], round_spot=False)):
        with pytest.raises(InputError, match="use images with astigmatism"):
            METHODS[name].run(dark, settings, shape=useless)


def test_beads_go_through_the_depths(shape: KnownShape) -> None:
    depths, seen = bead_images(shape, "any")
    assert len(depths) == len(seen) and (np.diff(depths) <= 0).all() and np.unique(depths).size * PER_PLANE == len(seen)
    assert depths[0] == -depths[-1] > 500
    sharpest = seen.reshape(len(seen), -1).max(axis=1).argmax()
    assert -50 <= depths[sharpest] <= 350, "between the foci"
