"""`inspect` and `convert`, as a user runs them."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flatmetric as fm
from tests.formats import samples
from tests.scenes import run


@pytest.fixture
def thunderstorm(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    path.write_text(samples.THUNDERSTORM)
    return path


def test_inspect_says_what_was_understood(thunderstorm: Path) -> None:
    out = run("inspect", thunderstorm)
    assert (out.returncode, out.stderr) == (0, "")
    for said in (
        "thunderstorm: the header has",
        "rows        3",
        "1 to 4, 2 with rows",
        "x           150.0 to 1234.5 nm",
    ):
        assert said in out.stdout


@pytest.mark.parametrize("words", [("--json",), ("--json", "-")])
def test_inspect_as_json(thunderstorm: Path, words: tuple[str, ...]) -> None:
    out = run("inspect", thunderstorm, *words)
    found = json.loads(out.stdout)
    assert {"format", "reason", "rows", "frames", "extent", "conversions", "warnings"} <= set(found)
    assert found["rows"] == 3 and found["frames"] == [1, 4] and found["extent"]["z"] == [-120.0, 333.25]
    assert found["first_rows"][0]["uncertainty"] is None  # no NaN in JSON


def test_inspect_names_what_looks_wrong(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("1,-5,3,0,9\n1,-5,3,0,9\n0,7000,3,0,-9\n")
    found = json.loads(run("inspect", path, "--json", "--fov", "6400").stdout)
    said = " | ".join(found["warnings"])
    for part in ("1 row repeats", "3 rows lie outside", "all z are 0", "1 row has negative photons", "a frame below 1"):
        assert part in said


def test_nothing_looks_wrong_in_a_good_file(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text(samples.STANDARD)
    assert json.loads(run("inspect", path, "--json").stdout)["warnings"] == []


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("inspect", "missing.csv"), "missing.csv: there is no such file"),
        (("inspect", "."), "is a folder"),
        (("inspect", "r.csv", "--unit", "inch"), "unit is 'inch'"),
        (("inspect", "r.csv", "--pixel-size", "wide"), "--pixel-size is 'wide'; give numbers"),
        (("inspect", "r.csv", "--columns", "x"), "--columns has 'x'; give name=value pairs"),
        (("inspect", "r.csv", "--fov", "0"), "fov is 0, 0;"),
        (("inspect", "r.csv", "--json", "no/such/folder.json"), "the folder no/such does not exist"),
        (("inspect", "r.csv", "--json", "r.csv"), "r.csv: is an input"),
        (("convert", "r.csv", "r.csv"), "r.csv: is an input"),
        (("convert", "r.csv", "out.xyz"), "its suffix does not say which format"),
        (("convert", "r.csv", "out.csv", "--to", "nikon"), "'nikon' is read but not written"),
        (("convert", "r.csv", "out.csv", "--to", "word"), "'word' is not a format"),
        (("convert", "r.csv", "out.hdf5"), "the pixel size is not known; give --pixel-size"),
        (("convert", "bad.csv", "out.csv"), "bad.csv: row 2, column 2, is 'x', not a number"),
    ],
)
def test_wrong_input_is_one_sentence_and_exit_code_2(
    words: tuple[str, ...], sentence: str, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.csv").write_text(samples.STANDARD)
    (tmp_path / "bad.csv").write_text("1,2,3,4,5\n1,x,3,4,5\n")
    before = sorted(tmp_path.iterdir())
    out = run(*words)
    assert (out.returncode, out.stdout) == (2, "")
    assert sentence in out.stderr and out.stderr.count("\n") == 1 and "Traceback" not in out.stderr
    assert sorted(tmp_path.iterdir()) == before  # nothing half-written
    assert (tmp_path / "r.csv").read_text() == samples.STANDARD


def test_the_metadata_beside_a_file_are_never_overwritten(tmp_path: Path) -> None:
    samples.picasso(tmp_path / "locs.hdf5")
    before = (tmp_path / "locs.yaml").read_bytes()
    out = run("convert", tmp_path / "locs.hdf5", tmp_path / "locs.h5")
    assert out.returncode == 2 and "locs.yaml: is an input" in out.stderr
    out = run("convert", tmp_path / "locs.hdf5", tmp_path / "o.hdf5", "--json", tmp_path / "o.yaml")
    assert out.returncode == 2 and "named for two outputs" in out.stderr
    assert (tmp_path / "locs.yaml").read_bytes() == before and not (tmp_path / "o.hdf5").exists()


def full_table() -> fm.Localizations:
    rng = np.random.default_rng(0)
    n = 50
    return fm.Localizations(
        frame=np.sort(rng.integers(1, 9, n)),
        x=rng.uniform(0, 6400, n),
        y=rng.uniform(0, 6400, n),
        z=rng.normal(0, 200, n),
        photons=rng.uniform(100, 5000, n),
        sigma=rng.uniform(90, 150, n),
        uncertainty=rng.uniform(5, 20, n),
        background=rng.uniform(0, 20, n),
        id=rng.integers(0, 99, n),
        channel=rng.integers(0, 2, n),
    )


@pytest.mark.parametrize(
    ("suffix", "to", "lost"),
    [
        (".csv", "challenge-standard", {"sigma", "uncertainty", "background", "id", "channel"}),
        (".csv", "thunderstorm", {"channel"}),
        (".hdf5", "picasso", {"id", "channel"}),
        (".parquet", "parquet", set()),
    ],
)
def test_round_trips_lose_only_what_the_target_cannot_hold(
    suffix: str, to: str, lost: set[str], tmp_path: Path
) -> None:
    from flatmetric.formats.write import write

    table = full_table()
    start, there, back = tmp_path / "start.parquet", tmp_path / f"there{suffix}", tmp_path / "back.parquet"
    write(table, start, "parquet")
    out = run("convert", start, there, "--to", to, "--pixel-size", "130", "--json")
    assert out.returncode == 0 and set(json.loads(out.stdout)["lost"]) == lost
    assert run("convert", there, back).returncode == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = fm.read(back)
    for name, column in table.columns().items():
        found = getattr(again, name)
        if name in lost:
            assert found is None
        elif to == "picasso":  # divided by the pixel size and multiplied again
            np.testing.assert_allclose(found, column, rtol=1e-12, atol=1e-9)
        else:
            np.testing.assert_array_equal(found, column)


def test_convert_says_what_was_lost_and_made_up(thunderstorm: Path, tmp_path: Path) -> None:
    out = run("convert", thunderstorm, tmp_path / "o.txt")
    assert out.returncode == 0 and "3 rows, thunderstorm to challenge-standard" in out.stdout
    assert "no place for sigma, uncertainty, background, id" in out.stderr


def test_skipping_bad_rows_on_request(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("1,2,3,4,5\n1,x,3,4,5\n")
    out = run("inspect", path, "--skip-bad-rows", "--json")
    found = json.loads(out.stdout)
    assert found["rows"] == 1 and found["dropped"] == {"text where a number should be": 1}


def test_progress_only_on_a_terminal(thunderstorm: Path, monkeypatch: Any, capsys: Any) -> None:
    from flatmetric.cli import progress

    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(progress, "_PATIENCE_S", -1.0)
    for is_terminal in (True, False):
        monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)  # noqa: B023
        with progress.progress_bar() as bar:
            fm.inspect(thunderstorm, progress=bar)
        assert ("reading t.csv [####" in capsys.readouterr().err) == is_terminal


def test_the_bar_says_what_remains(monkeypatch: Any, capsys: Any) -> None:
    from flatmetric.cli import progress

    now = 0.0
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr("flatmetric.cli.progress.time.monotonic", lambda: now)
    with progress.progress_bar() as bar:
        assert bar is not None
        bar("reading", 5, 10)
        for done in range(4):  # ten seconds each
            now += 10.0
            bar("scoring (2 running)", done, 100)
        assert "scoring (2 running) [##" not in capsys.readouterr().err
        now += 300.0
        bar("scoring (2 running, 1 failed)", 33, 100)
    assert (
        "scoring (2 running, 1 failed) [#########.....................]  33 %, 11 min left" in capsys.readouterr().err
    )


def test_a_link_is_followed_and_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(samples.STANDARD)
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("real.csv")
    assert run("convert", tmp_path / "t.csv", tmp_path / "link.csv").returncode == 0
    assert (tmp_path / "link.csv").is_symlink() and (tmp_path / "real.csv").read_text() != "old"


def test_an_archive_and_its_metadata_are_inputs(tmp_path: Path) -> None:
    import zipfile

    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("t.csv", samples.STANDARD)
    out = run("inspect", tmp_path / "a.zip" / "t.csv", "--json", tmp_path / "a.zip")
    assert out.returncode == 2 and zipfile.is_zipfile(tmp_path / "a.zip")
    samples.picasso(tmp_path / "l.hdf5")
    out = run("inspect", tmp_path / "l.hdf5", "--json", tmp_path / "l.yaml")
    assert out.returncode == 2 and "is an input" in out.stderr


def test_an_empty_table_needs_a_header(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("frame,x,y\n")
    out = run("convert", tmp_path / "t.csv", tmp_path / "o.txt")
    assert out.returncode == 2 and "--to thunderstorm" in out.stderr and not (tmp_path / "o.txt").exists()
