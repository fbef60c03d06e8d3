"""Only ordinary files are opened, whatever lies where the package left a file of its own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import flatmetric as fm
from flatmetric._files import content_hash, open_ordinary, read_json
from flatmetric.options.rules import read_wobble
from flatmetric.simulation.datasets import named
from flatmetric.simulation.folder import is_simulated, simulate_folder
from tests.scenes import run


def pipe(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def deep(path: Path) -> None:
    path.write_text("[" * 100_000)


def large(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


ODD = pytest.mark.parametrize("make", [pipe, device])


@pytest.mark.parametrize("make", [pipe, device, deep, large])
def test_odd_files_hold_no_json(make: Callable[[Path], None], tmp_path: Path) -> None:
    make(tmp_path / "a.json")
    assert read_json(tmp_path / "a.json") == {}


@ODD
def test_odd_files_are_not_opened(make: Callable[[Path], None], tmp_path: Path) -> None:
    make(tmp_path / "a")
    for opens in (open_ordinary, content_hash):
        with pytest.raises(fm.InputError, match="a: is not an ordinary file"):
            opens(tmp_path / "a")
    with pytest.raises(fm.InputError, match="a: is not an ordinary file"):
        read_wobble(tmp_path / "a")


@pytest.fixture(scope="module")
def challenge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("challenge") / "out"
    simulate_folder(folder / "MT4.N2.HD", named("MT4.N2.HD").with_frames(3), seed=0)
    (folder / "MT4.N2.HD" / "results").mkdir()
    (folder / "MT4.N2.HD" / "results" / "mine.csv").write_text("1,100,100,0,500\n2,3000,3000,0,500\n")
    return folder


@pytest.mark.parametrize("make", [pipe, device, deep])
@pytest.mark.parametrize("name", ["board/leaderboard.json", "MT4.N2.HD/simulation.json", "board/scores.sqlite"])
def test_a_leaderboard_passes_over_odd_files_or_names_them(
    name: str, make: Callable[[Path], None], challenge: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    shutil.copytree(challenge, folder)
    (folder / "board").mkdir()
    (folder / name).unlink(missing_ok=True)
    make(folder / name)
    out = run("leaderboard", folder, "--out", folder / "board")
    assert out.returncode in (0, 2) and out.stderr.count("Traceback") == 0
    if out.returncode == 2:
        assert out.stderr.count("\n") == 1 and "is not an ordinary file" in out.stderr


@ODD
def test_a_challenge_passes_over_odd_files_or_names_them(make: Callable[[Path], None], tmp_path: Path) -> None:
    small = ("--dataset", "MT4.N2.HD", "--frames", "3", "--participant", "dog", "--tune", "0")
    (tmp_path / "out").mkdir()
    make(tmp_path / "out" / ".lock")
    out = run("challenge", "run", "--out", tmp_path / "out", *small)
    assert out.returncode == 2 and ".lock: is not an ordinary file" in out.stderr and out.stderr.count("\n") == 1


@pytest.mark.parametrize("damage", ["no stack", "stack cut", "no truth", "truth cut"])
def test_a_damaged_simulation_is_made_again(damage: str, challenge: Path, tmp_path: Path) -> None:
    folder = tmp_path / "MT4.N2.HD"
    shutil.copytree(challenge / "MT4.N2.HD", folder)
    dataset = named("MT4.N2.HD").with_frames(3)
    assert is_simulated(folder, dataset, 0)
    path = folder / ("stack.ome.tif" if "stack" in damage else "activations.csv")
    whole = path.read_bytes()
    if "no" in damage:
        path.unlink()
    else:
        path.write_bytes(whole[: len(whole) // 2])
    assert not is_simulated(folder, dataset, 0)
    simulate_folder(folder, dataset, 0)
    assert path.read_bytes() == whole and is_simulated(folder, dataset, 0)


def test_a_truth_that_was_cut_is_not_ranked_by(challenge: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    shutil.copytree(challenge, folder)
    truth = folder / "MT4.N2.HD" / "activations.csv"
    truth.write_text("\n".join(truth.read_text().splitlines()[:5]) + "\n")
    with pytest.raises(fm.InputError, match=r"activations\.csv: is not the truth that was simulated"):
        fm.leaderboard(folder, out=tmp_path / "board")


def test_a_folder_is_no_stack(tmp_path: Path) -> None:
    out = run("localize", ".", cwd=tmp_path)
    assert out.returncode == 2 and out.stderr == "flatmetric: .: is a folder; give a file\n"
