"""`flatmetric simulate` and `flatmetric localize`: from nothing to a score."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tifffile

import flatmetric as fm
from flatmetric.simulation.datasets import named
from flatmetric.simulation.movie import molecules
from tests.scenes import run


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("simulated") / "MT3"
    out = run("simulate", "--dataset", "MT3.N2.LD", "--frames", "60", "--seed", "4", "--out", folder)
    assert out.returncode == 0, out.stderr
    assert "60 frames of 64 x 64 pixels" in out.stdout
    return folder


def test_stack_truth_and_parameters_are_written(simulated: Path) -> None:
    assert sorted(p.name for p in simulated.iterdir()) == ["activations.csv", "simulation.json", "stack.ome.tif"]
    assert tifffile.imread(simulated / "stack.ome.tif").shape == (60, 64, 64)
    truth = fm.read(simulated / "activations.csv")
    drawn = molecules(named("MT3.N2.LD").with_frames(60), seed=4)
    assert truth.provenance.format == "challenge-truth"
    np.testing.assert_allclose(truth.x, drawn.x, atol=1e-4)
    assert truth.z is not None and drawn.z is not None
    np.testing.assert_allclose(truth.z, drawn.z, atol=1e-4)
    np.testing.assert_array_equal(truth.frame, drawn.frame)
    assert truth.id is not None and drawn.id is not None
    np.testing.assert_array_equal(truth.id, drawn.id)
    told = json.loads((simulated / "simulation.json").read_text())
    assert told["seed"] == 4 and told["true_rows"] == len(truth) and told["dataset"]["camera"]["gain"] == 300
    assert told["dataset"]["photophysics"]["on_time"] == 1.0


def test_the_same_seed_gives_the_same_files(simulated: Path, tmp_path: Path) -> None:
    run("simulate", "--dataset", "MT3.N2.LD", "--frames", "60", "--seed", "4", "--out", tmp_path)
    for path in simulated.glob("*.*"):
        if path.name in ("activations.csv", "simulation.json", "stack.ome.tif"):
            assert (tmp_path / path.name).read_bytes() == path.read_bytes(), path.name


def test_a_file_and_a_modality(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        'structure = "endoplasmic_reticulum"\nframes = 5\ndensity = 1.0\nphotons = 2000\nbackground = 10\npixels = 32\n'
    )
    out = run("simulate", "--dataset", tmp_path / "mine.toml", "--modality", "AS", "--out", tmp_path / "new" / "er")
    assert out.returncode == 0, out.stderr
    told = json.loads((tmp_path / "new" / "er" / "simulation.json").read_text())
    assert told["dataset"]["optics"]["kind"] == "pupil" and told["dataset"]["optics"]["astigmatism"] < 0
    assert told["dataset"]["name"] == "mine"
    assert tifffile.imread(tmp_path / "new" / "er" / "stack.ome.tif").shape == (5, 32, 32)


def test_a_data_set_is_held_against_a_truth_without_making_images(simulated: Path, tmp_path: Path) -> None:
    arguments = ("simulate", "--dataset", "MT3.N2.LD", "--frames", "60", "--seed", "4")
    out = run(*arguments, "--compare", simulated / "activations.csv", "--out", tmp_path)
    assert out.returncode == 0, out.stderr
    assert out.stdout.startswith("MT3.N2.LD against activations.csv: ") and "traits agree within 10 %" in out.stdout
    assert sorted(p.name for p in tmp_path.iterdir()) == ["comparison.csv", "comparison.pdf", "comparison.png"]
    header, *rows = (tmp_path / "comparison.csv").read_text().splitlines()
    assert header == "trait,simulated,truth,ratio" and len(rows) == 19
    assert rows[0].split(",")[3] == repr(float(rows[0].split(",")[1]) / float(rows[0].split(",")[2]))
    out = run(*arguments, "--compare", tmp_path / "none.csv", "--out", tmp_path)
    assert out.returncode == 2 and out.stderr.count("\n") == 1


def test_the_baseline_scores_well_on_sparse_frames(simulated: Path, tmp_path: Path) -> None:
    target = tmp_path / "baseline.csv"
    out = run("localize", simulated / "stack.ome.tif", "--out", target)
    assert out.returncode == 0 and out.stderr == "", out.stderr
    assert out.stdout.endswith(f"written: {target}\n")
    score = fm.score(
        fm.read(simulated / "activations.csv"), fm.read(target), protocol=fm.Protocol.preset("challenge2016")
    ).to_dict()
    assert score["challenge"]["jaccard"] > 65 and score["challenge"]["precision"] > 0.95
    assert score["challenge"]["rmse_xy"] < 50
    assert abs(score["challenge"]["bias_x"]) < 8 and abs(score["challenge"]["bias_y"]) < 8


def test_settings_change_what_is_found(simulated: Path, tmp_path: Path) -> None:
    rows = []
    for threshold in ("3", "30"):
        target = tmp_path / f"t{threshold}.csv"
        run("localize", simulated / "stack.ome.tif", "--set", f"threshold={threshold}", "--out", target)
        rows.append(len(fm.read(target)))
    assert rows[0] > 1.3 * rows[1] > 0


def test_other_formats_can_be_written(simulated: Path, tmp_path: Path) -> None:
    out = run(
        "localize", simulated / "stack.ome.tif", "--method", "dog", "--to", "picasso", "--out", tmp_path / "a.hdf5"
    )
    assert out.returncode == 0, out.stderr
    assert fm.read(tmp_path / "a.hdf5", pixel_size=100.0).provenance.format == "picasso"


def test_a_camera_that_is_not_known_is_a_warning(simulated: Path, tmp_path: Path) -> None:
    stack = tmp_path / "alone.tif"
    stack.write_bytes((simulated / "stack.ome.tif").read_bytes())
    out = run("localize", stack)
    assert out.returncode == 0 and "the camera is not known" in out.stderr
    assert (tmp_path / "baseline.csv").exists()
    out = run("localize", stack, "--offset", "100", "--photons-per-count", "0.1667")
    assert out.returncode == 0 and out.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--method", "nothing"), "method is 'nothing'"),
        (("--set", "threshold"), "--set is 'threshold'"),
        (("--set", "size=3"), "no setting 'size'"),
        (("--pixel-size", "0"), "--pixel-size is 0"),
        (("--offset", "nan"), "--offset is nan"),
        (("--photons-per-count", "-1"), "--photons-per-count is -1"),
        (("--out", "/no/such/folder/a.csv"), "does not exist"),
        (("--out", "a.xyz"), "its suffix does not say"),
    ],
)
def test_wrong_options_of_localize_are_one_sentence(simulated: Path, arguments: tuple[str, ...], sentence: str) -> None:
    out = run("localize", simulated / "stack.ome.tif", *arguments)
    assert out.returncode == 2 and out.stderr.count("\n") == 1 and sentence in out.stderr


def test_stacks_that_are_none_are_one_sentence(simulated: Path, tmp_path: Path) -> None:
    out = run("localize", simulated / "activations.csv")
    assert out.returncode == 2 and "is not a TIFF file" in out.stderr
    colour = tmp_path / "colour.tif"
    tifffile.imwrite(colour, np.zeros((4, 32, 32, 3), np.uint8), photometric="rgb")
    out = run("localize", colour)
    assert out.returncode == 2 and "holds colour" in out.stderr
    plain = tmp_path / "plain.tif"
    tifffile.imwrite(plain, np.zeros((3, 32, 32), np.uint16), photometric="minisblack")
    out = run("localize", plain)
    assert out.returncode == 2 and "does not say its pixel size; give --pixel-size" in out.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--dataset", "MT9"), "dataset is 'MT9'"),
        (("--dataset", "MT3.N2.LD", "--frames", "0"), "frames is 0"),
        (("--dataset", "MT3.N2.LD", "--seed", "-1"), "seed is -1"),
        (("--dataset", "MT3.N2.LD", "--modality", "4D"), "modality is '4D'"),
    ],
)
def test_wrong_options_of_simulate_are_one_sentence(tmp_path: Path, arguments: tuple[str, ...], sentence: str) -> None:
    out = run("simulate", "--out", tmp_path / "a", *arguments)
    assert out.returncode == 2 and out.stderr.count("\n") == 1 and sentence in out.stderr


def test_memory_does_not_grow_with_the_frames(tmp_path: Path) -> None:
    peaks = []
    for frames in ("500", "2000"):
        arguments = ["flatmetric", "simulate", "--dataset", "MT1.N1.LD", "--frames", frames, "--out", str(tmp_path)]
        script = (
            "import re, sys\n"
            "from flatmetric.cli import main\n"
            f"sys.argv = {arguments!r}\n"
            "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
            "print(re.search(r'VmHWM:\\s+(\\d+) kB', open('/proc/self/status').read())[1])"
        )
        out = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
        peaks.append(int(out.split()[-1]) / 1000)
    assert peaks[1] < 300 and peaks[1] - peaks[0] < 30  # MB; the frames of 2000 would be 16 MB as counts, 65 as photons


def test_files_that_were_not_simulated_are_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "activations.csv").write_text("mine")
    out = run("simulate", "--dataset", "MT3.N2.LD", "--frames", "2", "--out", tmp_path)
    assert out.returncode == 2 and "was not simulated here" in out.stderr
    assert (tmp_path / "activations.csv").read_text() == "mine"


def test_a_simulation_that_did_not_end_says_so(simulated: Path, tmp_path: Path) -> None:
    for name in ("stack.ome.tif", "simulation.json"):
        (tmp_path / name).write_bytes((simulated / name).read_bytes())
    told = json.loads((tmp_path / "simulation.json").read_text())
    (tmp_path / "simulation.json").write_text(json.dumps(told | {"unfinished": True}))
    out = run("localize", tmp_path / "stack.ome.tif")
    assert out.returncode == 0 and "the camera is not known" in out.stderr
    out = run("simulate", "--dataset", "MT3.N2.LD", "--frames", "2", "--out", tmp_path)
    assert out.returncode == 0
    assert "unfinished" not in json.loads((tmp_path / "simulation.json").read_text())


def test_photophysics_without_end_are_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        'structure = "microtubules"\nframes = 50\ndensity = 1.0\nphotons = 2000\nbackground = 10\n'
        "[photophysics]\nblinks = 900000\ndark_time = 900000\n"
    )
    out = run("simulate", "--dataset", tmp_path / "mine.toml", "--out", tmp_path / "a")
    assert out.returncode == 2 and "give fewer frames" in out.stderr and out.stderr.count("\n") == 1
