"""Data sets by name and by file."""

from __future__ import annotations

from pathlib import Path

import pytest

from flatmetric.errors import InputError
from flatmetric.simulation.datasets import PAPER, named
from flatmetric.simulation.optics import Gaussian

CUSTOM = """
structure = "microtubules"
frames = 12
density = 0.5
photons = 900
background = 4.5
[photophysics]
on_time = 1.5
[optics]
kind = "gaussian"
sigma = 130
[camera]
gain = 100.0
"""


@pytest.mark.parametrize(
    ("name", "frames", "structure", "per_frame"),
    [
        ("ER1.N3.LD", 19_620, "endoplasmic_reticulum", 1.245),
        ("ER2.N3.HD", 3020, "endoplasmic_reticulum", 12.66),
        ("MT3.N2.LD", 20_120, "microtubules", 1.245),
        ("MT4.N2.HD", 3020, "microtubules", 12.66),
    ],
)
def test_the_papers_data_sets_are_those_of_the_challenge(
    name: str, frames: int, structure: str, per_frame: float
) -> None:
    dataset = named(name)
    assert name in PAPER
    assert (dataset.frames, dataset.structure, dataset.pixels, dataset.pixel_size) == (frames, structure, 64, 100.0)
    assert dataset.per_frame == pytest.approx(per_frame, rel=1e-3)
    assert (dataset.camera.quantum_efficiency, dataset.camera.gain, dataset.camera.readout) == (0.9, 300.0, 74.4)
    assert dataset.camera.spurious == 0.002


def test_noise_grows_harder_from_n1_to_n3() -> None:
    photons = [named(name).photons for name in ("MT1.N1.LD", "MT3.N2.LD", "ER1.N3.LD")]
    assert photons == sorted(photons, reverse=True)


def test_a_file_defines_a_data_set(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(CUSTOM)
    dataset = named(str(path))
    assert (dataset.name, dataset.frames, dataset.photons) == ("mine", 12, 900)
    assert (dataset.photophysics.on_time, dataset.photophysics.blinks) == (1.5, 1.5)
    assert dataset.optics == Gaussian(sigma=130)
    assert (dataset.camera.gain, dataset.camera.offset) == (100.0, 100.0)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("frames = 12", "frames = 0"), "frames is 0"),
        (("frames = 12", "frames = 12\npixel_size = 0.1"), "give a field of 500 to"),
        (("frames = 12", 'frames = 12\nname = "../x"'), "name is '../x'"),
        (("frames = 12", "frames = 1.5"), "frames is 1.5; give a whole number"),
        (("frames = 12", "frames = true"), "frames is True"),
        (("frames = 12\n", ""), "lacks frames"),
        (('"microtubules"', '"nuclei"'), "structure is 'nuclei'"),
        (("density = 0.5", "density = -1"), "density is -1"),
        (("density = 0.5", "density = nan"), "density is nan"),
        (("density = 0.5", "density = 1e8"), "give less"),
        (("density = 0.5", 'density = "much"'), "density is 'much'; give a number"),
        (("sigma = 130", "sgima = 130"), "has 'sgima', which is not known"),
        (('"gaussian"', '"lens"'), "kind is 'lens'; give one of gaussian, pupil, measured"),
        (('kind = "gaussian"\nsigma = 130', "planes = [0, true]"), "planes is"),
        (('kind = "gaussian"\nsigma = 130', "planes = 3"), "planes is 3; give numbers in brackets"),
        (('kind = "gaussian"\nsigma = 130', "aperture = 1.6"), "aperture is 1.6; give one from 0.05 and below"),
        (("gain = 100.0", "gain = 0"), r"\[camera\]: gain is 0"),
        (("[camera]\ngain = 100.0", "camera = 3"), "camera"),
        (("background = 4.5", "background = "), "is not valid TOML"),
    ],
)
def test_wrong_files_are_one_sentence(tmp_path: Path, change: tuple[str, str], sentence: str) -> None:
    path = tmp_path / "mine.toml"
    text = CUSTOM.replace(*change)
    if "camera = 3" in text:
        text = "camera = 3\n" + CUSTOM.replace("[camera]\ngain = 100.0", "")
    path.write_text(text)
    with pytest.raises(InputError, match=sentence) as caught:
        named(str(path))
    assert str(path) in str(caught.value)


def test_names_that_are_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"dataset is 'MT9'; give one of MT0\.N1\.LD"):
        named("MT9")
    with pytest.raises(InputError, match="there is no such file"):
        named(str(tmp_path / "none.toml"))
    with pytest.raises(InputError, match="modality is '4D'; give one of 2D, AS, DH, BP"):
        named("MT3.N2.LD").with_modality("4D")
