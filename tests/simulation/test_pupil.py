"""Spots by Fourier optics against integrals that are computed otherwise, and against real images."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest
import tifffile
from scipy.integrate import quad_vec
from scipy.special import j0, ndtr

from flatmetric.errors import InputError
from flatmetric.simulation.datasets import MODALITIES, named
from flatmetric.simulation.optics import Measured, spots
from flatmetric.simulation.psf import Psf, measured
from flatmetric.simulation.pupil import Pupil, sampled_pupil
from flatmetric.stacks import open_stack
from tests.scenes import REAL_DATA

PIXEL = 100.0
ZERO = np.zeros(1)
MOVIE = REAL_DATA / "epfl2016-AS-movie" / "MT0.N1.LD-AS-frames-1-64.tif"
BEADS = REAL_DATA / "epfl2016-AS-movie" / "beads-AS-zstack.tif"
TRUTH = REAL_DATA / "gt-and-results" / "epfl2016-MT0.N1.LD" / "gt.csv"


def at(psf: Psf, z: float, side: int, x: float = 0.0, y: float = 0.0) -> np.ndarray:
    return np.asarray(psf.boxes(ZERO + x, ZERO + y, ZERO + z, side)[0])


def radial(pupil: Pupil, r: np.ndarray, z: float) -> np.ndarray:
    """The intensity of a round spot by the integral over the radius of the pupil."""
    edge = pupil.aperture / pupil.wavelength

    def light(f: float) -> np.ndarray:
        along = 2 * math.pi * math.sqrt((pupil.index / pupil.wavelength) ** 2 - f**2)
        return np.asarray(f * j0(2 * math.pi * f * r) * np.exp(1j * along * z))

    amplitude = quad_vec(light, 0.0, edge, epsrel=1e-9)[0]
    # The energy of the pupil, by Parseval's theorem.
    return np.asarray(np.abs(2 * math.pi * amplitude) ** 2 / (math.pi * edge**2))


@pytest.mark.parametrize("z", [0.0, 240.0, -390.0])
def test_a_round_spot_is_the_integral_over_the_pupil(z: float) -> None:
    pupil = Pupil(blur=0.0)
    nodes, weights = np.polynomial.legendre.leggauss(8)
    pixels = (np.arange(-4, 5)[:, None] + nodes / 2).ravel() * PIXEL
    y, x = np.meshgrid(pixels, pixels, indexing="ij")
    share = np.tile(weights / 2 * PIXEL, 9)
    fine = radial(pupil, np.hypot(x, y).ravel(), z).reshape(x.shape) * share[:, None] * share
    expected = fine.reshape(9, 8, 9, 8).sum(axis=(1, 3))
    np.testing.assert_allclose(at(sampled_pupil(pupil, PIXEL), z, 9), expected, atol=6e-3 * expected.max())


def test_a_blurred_spot_is_a_gaussian() -> None:
    line = np.diff(ndtr(np.arange(-5.5, 6) * PIXEL / math.hypot(500.0, 95.0)))
    expected, found = np.outer(line, line), at(sampled_pupil(Pupil(blur=500.0), PIXEL), 0.0, 11)
    np.testing.assert_allclose(found / found.max(), expected / expected.max(), atol=0.02)


@pytest.mark.parametrize("modality", MODALITIES)
@pytest.mark.parametrize("z", [-600.0, 0.0, 600.0])
def test_nearly_all_light_is_in_the_spot(modality: str, z: float) -> None:
    pupil = MODALITIES[modality]
    for channel in range(len(pupil.planes)):
        psf = sampled_pupil(pupil, PIXEL, channel)
        assert 0.88 * pupil.light < at(psf, z, psf.side).sum() < pupil.light


def test_spots_have_the_symmetry_of_their_pupil() -> None:
    round_spot = at(sampled_pupil(Pupil(), PIXEL), 300.0, 15)
    np.testing.assert_allclose(round_spot, round_spot.T, atol=1e-9)
    np.testing.assert_allclose(round_spot, round_spot[::-1], atol=1e-9)
    stretched = at(sampled_pupil(Pupil(astigmatism=0.7), PIXEL), 300.0, 15)
    np.testing.assert_allclose(stretched, stretched[:, ::-1], atol=1e-9)
    assert abs(stretched - stretched.T).max() > 0.1 * stretched.max()
    turned = at(sampled_pupil(Pupil(astigmatism=0.7), PIXEL), -300.0, 15)
    np.testing.assert_allclose(stretched, turned.T, atol=1e-9)  # before focus along x, behind it along y
    helix = at(sampled_pupil(Pupil(helix=4), PIXEL), 300.0, 15)
    np.testing.assert_allclose(helix, helix[::-1, ::-1], atol=1e-2 * helix.max())


def test_slopes_are_those_of_the_spot() -> None:
    psf = sampled_pupil(MODALITIES["AS"], PIXEL)
    x, y, z = np.array([13.0, -48.0]), np.array([-31.0, 7.0]), np.array([-420.0, 111.0])
    share, *slopes = psf.boxes_and_slopes(x, y, z, 11)
    np.testing.assert_array_equal(share, psf.boxes(x, y, z, 11))
    for axis, slope in enumerate(slopes):
        step = np.zeros((3, 1))
        step[axis] = 1e-3
        more = psf.boxes(x + step[0], y + step[1], z + step[2], 11)
        less = psf.boxes(x - step[0], y - step[1], z - step[2], 11)
        np.testing.assert_allclose(slope, (more - less) / 2e-3, atol=1e-9)


def test_an_image_is_the_sum_of_its_boxes_and_is_cut_at_the_edge() -> None:
    optics, psf = MODALITIES["2D"], sampled_pupil(MODALITIES["2D"], PIXEL)
    image = spots(np.array([[3260.0, 3110.0, 50.0]]), np.array([700.0]), optics, pixels=64, pixel_size=PIXEL)
    half = psf.side // 2
    box = 700 * at(psf, 50.0, psf.side, x=10.0, y=-40.0)
    np.testing.assert_allclose(image[31 - half : 32 + half, 32 - half : 33 + half], box, atol=1e-9)
    corner = spots(np.array([[0.0, 6399.0, 0.0]]), np.array([700.0]), optics, pixels=64, pixel_size=PIXEL)
    assert corner.argmax() == 63 * 64 and 100 < corner.sum() < 250


def test_two_planes_share_the_light_and_are_in_focus_at_their_depths() -> None:
    for z, bright in ((-250.0, 0), (250.0, 1)):
        image = spots(np.array([[3200.0, 3200.0, z]]), np.ones(1), MODALITIES["BP"], pixels=64, pixel_size=PIXEL)
        assert image.shape == (64, 128)
        peaks = image[:, :64].max(), image[:, 64:].max()
        assert peaks[bright] > 3 * peaks[1 - bright] and image[:, :64].sum() == pytest.approx(0.5, abs=0.02)


def test_a_spot_wobbles_as_told() -> None:
    pupil = Pupil(wobble_x=(20.0, -30.0), wobble_y=(0.0, 0.0, 100.0))
    psf, pixels = sampled_pupil(pupil, PIXEL), np.arange(-20, 21) * PIXEL
    still = sampled_pupil(Pupil(), PIXEL)
    for z in (-400.0, 300.0):
        moved_x, moved_y = pupil.shift(np.array([z]))
        np.testing.assert_allclose(
            at(psf, z, 41), at(still, z, 41, x=moved_x[0], y=moved_y[0]), atol=1e-4 * at(still, z, 41).max()
        )
        assert pixels @ at(psf, z, 41).sum(axis=0) == pytest.approx(moved_x[0], rel=0.1)


def test_a_measured_spot_is_that_of_its_beads(tmp_path: Path) -> None:
    pupil = Pupil(astigmatism=0.6, blur=100.0)
    psf, rng = sampled_pupil(pupil, PIXEL), np.random.default_rng(0)
    places = np.array([[3030.0, 3170.0], [3050.0, 9020.0], [9090.0, 3000.0], [8980.0, 9060.0]])
    images = []
    for z in np.arange(-600.0, 601, 50):
        xyz = np.column_stack([places, np.full(4, z)])
        expected = 10 + spots(xyz, np.full(4, 40_000.0), pupil, pixels=120, pixel_size=PIXEL)
        images.append(rng.poisson(expected).astype(np.uint16))
    tifffile.imwrite(tmp_path / "beads.tif", np.stack(images), photometric="minisblack")
    found = measured(open_stack(tmp_path / "beads.tif"), PIXEL, 50.0)
    for z in (-400.0, 20.0, 300.0):
        expected = at(psf, z, 15) / at(psf, z, 39).sum()
        assert abs(at(found, z, 15) - expected).sum() < 0.12
    image = spots(
        np.array([[3200.0, 3200.0, 0.0]]),
        np.ones(1),
        Measured(str(tmp_path / "beads.tif"), z_step=50.0),
        pixels=64,
        pixel_size=PIXEL,
    )
    assert image.sum() == pytest.approx(1, abs=0.02)


def test_bead_stacks_that_are_none_are_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "dark.tif"
    tifffile.imwrite(path, np.zeros((3, 80, 80), np.uint16), photometric="minisblack")
    with pytest.raises(InputError, match="has 3 images; give a bead stack of at least 9"):
        measured(open_stack(path), PIXEL, 50.0)
    tifffile.imwrite(path, np.zeros((11, 30, 30), np.uint16), photometric="minisblack")
    with pytest.raises(InputError, match="has no bead that lies 2000 nm from others"):
        measured(open_stack(path), PIXEL, 50.0)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"aperture": 1.6}, "aperture is 1.6"),
        ({"wavelength": 0.0}, "wavelength is 0"),
        ({"blur": -1.0}, "blur is -1"),
        ({"helix": 99}, "helix is 99"),
        ({"planes": ()}, "planes has 0 numbers"),
        ({"light": 0.0}, "light is 0"),
        ({"astigmatism": float("nan")}, "astigmatism is nan"),
        ({"wobble_x": (0.0, 0.0, 0.0, 1.0)}, "wobble has more than three"),
    ],
)
def test_wrong_pupils_are_refused(wrong: dict[str, float], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        Pupil(**wrong)  # type: ignore[arg-type]


def test_pixels_that_are_too_large_for_a_pupil_are_refused() -> None:
    with pytest.raises(InputError, match="pixel_size is 900; give at most 455 nm for this pupil, or Gaussian optics"):
        dataclasses.replace(named("MT3.N2.LD"), pixel_size=900.0)


def test_no_pixel_is_darker_than_dark() -> None:
    xyz = np.array([[1600.0, 1600.0, 0.0]])
    assert spots(xyz, np.array([1e6]), MODALITIES["2D"], pixels=64, pixel_size=PIXEL).min() >= 0


@pytest.mark.skipif(not MOVIE.exists(), reason="the challenge's images are not here")
def test_astigmatic_images_are_like_the_real_ones() -> None:
    """The first frames of the training set, drawn from its truth: the same picture to little more than noise."""
    frame, x, y, z, photons = np.loadtxt(TRUTH, delimiter=",", skiprows=1).T
    dataset = named("MT0.N1.LD").with_modality("AS")
    camera = dataset.camera
    counts = tifffile.imread(MOVIE).astype(np.float64)
    light = np.zeros(counts.shape)
    for k, image in enumerate(light, start=1):
        rows = frame == k
        xyz = np.column_stack([x, y, z])[rows]
        image += spots(xyz, photons[rows], dataset.optics, pixels=64, pixel_size=PIXEL)
    expected, variance = camera.mean(light + dataset.background), camera.variance(light + dataset.background)
    assert counts.mean() == pytest.approx(expected.mean(), rel=0.03)
    dark = light < 0.5
    assert counts[dark].var() == pytest.approx(variance[dark].mean(), rel=0.1)
    squares = (counts - expected) ** 2 / variance
    assert squares.mean() < 1.15 and squares[light > 20].mean() < 1.5
    residual = (
        np.abs(counts - expected)[light > 20].sum()
        / (expected - camera.mean(dataset.background + ZERO))[light > 20].sum()
    )
    noise = (
        0.8
        * np.sqrt(variance[light > 20]).sum()
        / (expected - camera.mean(dataset.background + ZERO))[light > 20].sum()
    )
    assert residual < 1.2 * noise


@pytest.mark.skipif(not BEADS.exists(), reason="the challenge's beads are not here")
def test_the_double_helix_turns_as_the_real_one() -> None:
    """The bead stack shows a double helix: the angle and the distance of its two spots by their second moments."""
    real, ours = measured(open_stack(BEADS), PIXEL, 10.0), sampled_pupil(MODALITIES["DH"], PIXEL)
    offset = np.arange(-9, 10)
    found = []
    for psf in (real, ours):
        for z in (-450.0, -300.0, 0.0, 300.0, 600.0):
            box = at(psf, z, 19)
            light = np.clip(box - 0.3 * box.max(), 0, None)
            light /= light.sum()
            dx, dy = offset - light.sum(axis=0) @ offset, offset - light.sum(axis=1) @ offset
            xx, yy = light.sum(axis=0) @ dx**2, light.sum(axis=1) @ dy**2
            xy = dy @ light @ dx
            found.append((0.5 * math.degrees(math.atan2(2 * xy, xx - yy)) % 180, math.sqrt(xx + yy)))
    (angle, size), (our_angle, our_size) = np.array(found[:5]).T, np.array(found[5:]).T
    np.testing.assert_allclose(our_angle, angle, atol=8)
    np.testing.assert_allclose(our_size, size, rtol=0.1)
    assert np.ptp(angle) > 70
