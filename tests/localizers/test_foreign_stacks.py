"""Stacks whose camera or optics are not known: what is measured from their noise, and beads of another microscope."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import tifffile

import flatmetric as fm
from flatmetric.errors import InputError
from flatmetric.localizers.bead_check import check_beads
from flatmetric.localizers.photon_transfer import photon_transfer
from flatmetric.localizers.registry import camera_of, shape_from_beads
from flatmetric.simulation.datasets import pupil_of
from flatmetric.simulation.optics import spots
from flatmetric.stacks import open_stack
from tests.scenes import REAL_DATA

REAL = REAL_DATA / "epfl2016-AS-movie"


def movie(
    path: Path, *, gain: float, offset: float, multiplied: bool = False, gradient: float = 1.0, frames: int = 80
) -> Path:
    """Blinking Gaussian spots that share nothing with the simulator: on for one to five frames, background from left to
    right.
    """
    random, side = np.random.default_rng(5), 64
    light = np.tile(30 * np.linspace(1, gradient, side), (frames, side, 1))
    rows, columns = np.mgrid[:side, :side]
    for _ in range(2 * frames - 10):
        x, y = random.uniform(4, side - 4, 2)
        spot = np.exp(-((columns - x) ** 2 + (rows - y) ** 2) / 2 / 1.2**2) / (2 * np.pi * 1.2**2)
        first = int(random.integers(frames))
        light[first : first + int(random.integers(1, 6))] += random.uniform(800, 3000) * spot
    electrons = random.poisson(light).astype(float)
    if multiplied:
        electrons = random.gamma(np.maximum(electrons, 1e-9))
    counts = offset + gain * electrons + random.normal(0, gain, light.shape)  # read noise of one electron
    tifffile.imwrite(path, np.round(counts).astype(np.uint16), photometric="minisblack")
    return path


@pytest.mark.parametrize("multiplied", [False, True])
def test_the_gain_is_measured_from_the_noise(multiplied: bool, tmp_path: Path) -> None:
    stack = open_stack(movie(tmp_path / "a.tif", gain=6.0, offset=200.0, multiplied=multiplied, gradient=4.0))
    measured = photon_transfer(stack)
    assert measured is not None
    expected = 12.0 if multiplied else 6.0  # electron multiplication doubles the noise
    assert measured.slope == pytest.approx(expected, rel=0.06) and measured.offset == pytest.approx(200, abs=20)
    known = photon_transfer(stack, offset=200.0)
    assert known is not None and known.slope == pytest.approx(expected, rel=0.08)


def test_the_noise_of_an_interpolated_movie_is_not_that_of_photons(tmp_path: Path) -> None:
    path = movie(tmp_path / "a.tif", gain=6.0, offset=200.0, gradient=4.0)
    counts = tifffile.imread(path).astype(np.float32)
    tifffile.imwrite(path, (counts[:, 1:] + counts[:, :-1]) / 2, photometric="minisblack")  # moved by half a pixel
    assert photon_transfer(open_stack(path)) is None


def test_even_light_does_not_tell_the_offset(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    tifffile.imwrite(tmp_path / "a.tif", random.poisson(50, (20, 64, 64)).astype(np.uint16) + 100)
    stack = open_stack(tmp_path / "a.tif")
    assert photon_transfer(stack) is None
    known = photon_transfer(stack, offset=100.0)
    assert known is not None and known.slope == pytest.approx(1.0, rel=0.05)


def test_methods_that_need_photons_ask_for_the_camera(tmp_path: Path) -> None:
    path = movie(tmp_path / "a.tif", gain=6.0, offset=200.0)
    tifffile.imwrite(path, tifffile.imread(path)[:2])  # too short to measure anything
    with pytest.raises(InputError, match=r"neural needs photons, and the camera can't be measured .*; give offset="):
        fm.localize(path, method="neural", pixel_size=100.0)
    table = fm.localize(path, method="dog", pixel_size=100.0)
    assert "the camera is not known" in table.provenance.assumptions[0]


def test_a_measured_camera_is_reported_and_used(tmp_path: Path) -> None:
    path = movie(tmp_path / "a.tif", gain=6.0, offset=200.0, gradient=3.0, frames=40)
    measured = fm.localize(path, method="neural", pixel_size=100.0)
    assert "photons per count (twice as many on an EMCCD camera), measured from" in measured.provenance.assumptions[0]
    known = fm.localize(path, method="neural", pixel_size=100.0, offset=200.0, photons_per_count=1 / 6)
    assert len(known) / 1.1 < len(measured) < 1.1 * len(known)
    assert known.provenance.assumptions == ()


@pytest.mark.parametrize("kind", ["uint8", "int32", "float16", "float32"])
def test_the_kind_of_number_does_not_matter(kind: str, tmp_path: Path) -> None:
    path, places = movie(tmp_path / "a.tif", gain=0.5, offset=10.0), {}
    counts = tifffile.imread(path)[:10, :40]  # not square
    for one in ("uint16", kind):
        tifffile.imwrite(path, np.minimum(counts, 255).astype(one), photometric="minisblack")
        table = fm.localize(path, pixel_size=100.0, offset=10.0, photons_per_count=2.0)
        places[one] = np.column_stack([table.frame, table.x, table.y])
    assert len(places[kind]) > 20
    np.testing.assert_array_equal(places[kind], places["uint16"])


@pytest.fixture(scope="module")
def beads(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A bead stack for each modality, planes 100 nm apart."""
    random, made = np.random.default_rng(0), {}
    places = np.array([[3030.0, 3170.0], [8980.0, 9060.0]])
    for modality in ("2D", "AS", "DH"):
        images = []
        for z in np.arange(-700.0, 701, 100):
            xyz = np.column_stack([places, np.full(2, z)])
            expected = 10 + spots(xyz, np.full(2, 40_000.0), pupil_of(modality), pixels=120, pixel_size=100.0)
            images.append(random.poisson(expected).astype(np.uint16))
        made[modality] = tmp_path_factory.mktemp("beads") / f"{modality}.tif"
        tifffile.imwrite(made[modality], np.stack(images), photometric="minisblack")
    return made


@pytest.mark.parametrize("modality", ["AS", "DH"])
def test_beads_of_other_optics_are_refused(modality: str, beads: dict[str, Path], tmp_path: Path) -> None:
    made = fm.simulate(dataset="MT3.N2.LD", modality=modality, frames=60, seed=1, out=tmp_path)
    alone = shutil.copy(made.stack, tmp_path / "alone.tif")
    for other in {"AS": ["DH"], "DH": ["2D", "AS"]}[modality]:
        with pytest.raises(InputError, match=rf"{other}\.tif: its beads don't look like the spots of .*alone\.tif"):
            fm.localize(alone, beads=beads[other], bead_step=100.0, offset=100.0, photons_per_count=1 / 6)
    table = fm.localize(alone, beads=beads[modality], bead_step=100.0, offset=100.0, photons_per_count=1 / 6)
    assert (fm.score(made.truth, table, dim=2, check=False)["jaccard"] or 0) > (80 if modality == "AS" else 60)


@pytest.mark.skipif(not REAL.exists(), reason="the challenge's movie is not here")
def test_the_camera_and_the_beads_of_a_real_movie() -> None:
    """Its camera has an offset of 100 and 6.7 counts per photon, multiplied; the stack of beads is a double helix."""
    stack = open_stack(REAL / "MT0.N1.LD-AS-frames-1-64.tif")
    known = photon_transfer(stack, offset=100.0)
    assert known is not None and known.slope == pytest.approx(2 * 6.67, rel=0.1)
    shape = shape_from_beads(REAL / "beads-AS-zstack.tif", 10.0, 100.0)
    with pytest.raises(InputError, match=r"of which they leave [45678]\d % unexplained"):
        check_beads(stack, shape, 100.0, REAL / "beads-AS-zstack.tif")
    assert camera_of(stack, 100.0, 100.0).photons_per_count == pytest.approx(0.075, rel=0.1)
