"""`flatmetric score`, as a user runs it."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import flatmetric as fm
from flatmetric.api import inputs
from flatmetric.options.scoring import ScoreOptions
from tests.scenes import SCHEMA, run, scene

CASES = Path(__file__).parents[1] / "data" / "challenge-cases"


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    paths = tmp_path / "truth.csv", tmp_path / "result.csv"
    for table, path in zip(scene(), paths, strict=True):
        table.to_pandas().drop(columns="id", errors="ignore").to_csv(path, index=False)
    return paths


def scored(*words: str | Path) -> dict[str, Any]:
    out = run("score", *words, "--json", "-")
    assert out.returncode == 0, out.stderr
    content: dict[str, Any] = json.loads(out.stdout)
    jsonschema.validate(content, SCHEMA)
    return content


@pytest.mark.parametrize(
    ("case", "words", "expected"),
    [
        ("c03_dense_3d", ("--dim", "3"), (726, 117, 135)),
        ("c06_greedy_traps", ("--dim", "3", "--matching", "optimal"), (16, None, None)),
        ("c16_photon_threshold", ("--dim", "3", "--photon-quantile", "0.25"), (201, None, None)),
        ("c11_no_detections", ("--dim", "3"), (0, 0, None)),
    ],
)
def test_challenge_cases(case: str, words: tuple[str, ...], expected: tuple[int | None, ...]) -> None:
    content = scored(CASES / case / "gt.csv", CASES / case / "test.csv", "--protocol", "challenge2016", *words)
    found = [content["challenge"][name] for name in ("tp", "fp", "fn")]
    assert found[0] == expected[0]
    with (CASES / "matlab_metrics.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            quantile = "q25" if "--photon-quantile" in words else "q0"
            if row["case"] == case and row["run"] == f"3D_{quantile}_wobble_no" and "--matching" not in words:
                assert found == [int(row["TP"]), int(row["FP"]), int(row["FN"])]


def test_the_command_and_the_function_agree(files: tuple[Path, Path]) -> None:
    content = scored(*files, "--lam", "80", "--weights", "photons", "--axis-scale", "1,1,0.5", "--gospa-p", "2")
    truth, pred = fm.read(files[0]), fm.read(files[1])
    alone = fm.score(truth, pred, lam=80, weights="photons", axis_scale=(1, 1, 0.5), gospa_p=2).to_dict()
    for part in ("flat_metric", "challenge", "molecules", "rmsmd", "gospa", "ospa"):
        assert content[part] == alone[part]
    assert content["inputs"]["truth"]["sha256"] == truth.provenance.sha256


def test_the_terminal_view(files: tuple[Path, Path]) -> None:
    out = run("score", *files, "--by", "z", "--bins", "3")
    assert out.returncode == 0
    for said in ("Flat Metric", "displaced", "nm per molecule; ", "Jaccard", "RMSMD", "GOSPA", "z [nm]"):
        assert said in out.stdout
    assert "-[1]" in out.stdout and "[1] the truth has no ids" in out.stdout  # a dash with its footnote
    assert "\033" not in out.stdout and "reading" not in out.stderr  # quiet when piped
    assert all(line.startswith(("assumed: ", "note: ")) for line in out.stderr.splitlines())


def test_files_of_explanations(files: tuple[Path, Path], tmp_path: Path) -> None:
    frames, molecules, values = tmp_path / "f.csv", tmp_path / "m.csv", tmp_path / "v.csv"
    content = scored(*files, "--per-frame", frames, "--per-molecule", molecules, "--csv", values, "--by", "frame")
    with frames.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert sum(float(row["flat_metric_share_nm"]) for row in rows) == pytest.approx(content["flat_metric"]["value"])
    with molecules.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == content["inputs"]["truth"]["rows"] + content["inputs"]["pred"]["rows"]
    with values.open(encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    assert float(row["challenge.jaccard [%]"]) == content["challenge"]["jaccard"] and row["molecules.recall"] == ""
    assert sum(b["n_truth"] for b in content["by"]["bins"]) == content["compared"]["truth"]


def test_csv_to_standard_output(files: tuple[Path, Path]) -> None:
    out = run("score", *files, "--csv", "-")
    (row,) = csv.DictReader(io.StringIO(out.stdout))
    assert float(row["lam_nm"]) == 125


def test_a_protocol_file_and_flags_over_it(files: tuple[Path, Path], tmp_path: Path) -> None:
    rules = tmp_path / "mine.toml"
    rules.write_text('preset = "challenge2016"\ntolerance = 100.0\n')
    content = scored(*files, "--protocol", rules, "--border", "200", "--dim", "2")
    assert content["protocol"]["name"] == "mine"
    assert (content["protocol"]["tolerance"], content["protocol"]["border"], content["dim"]) == (100, 200, 2)


def test_reading_options_for_both_sides(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("f,a,b\n0,1,2\n1,3,4\n")
    (tmp_path / "p.csv").write_text("frame,x,y\n1,15,25\n2,35,45\n")
    content = scored(
        tmp_path / "t.csv",
        tmp_path / "p.csv",
        *("--truth-columns", "frame=f,x=a,y=b", "--truth-unit", "px", "--pixel-size", "10", "--truth-origin", "center"),
        *("--truth-frame-base", "0", "--unit", "nm", "--origin", "corner", "--frame-base", "1"),
    )
    assert content["flat_metric"]["value"] == 0 and content["warnings"] == []


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("missing.csv", "result.csv"), "missing.csv: there is no such file"),
        (("truth.csv", "empty.csv", "--dim", "3"), "empty.csv: it has no z, so it can't be used in 3D"),
        (("empty.csv", "result.csv"), "empty.csv: the truth has no row"),
        (("truth.csv", "result.csv", "--tolerance", "0"), "tolerance is 0"),
        (("truth.csv", "result.csv", "--lam", "-3"), "lam is -3; give a positive length"),
        (("truth.csv", "result.csv", "--lam", "wide"), "--lam is 'wide'; give a number"),
        (("truth.csv", "result.csv", "--weights", "mass"), "weights is 'mass'"),
        (("truth.csv", "result.csv", "--matching", "best"), "matching is 'best'"),
        (("truth.csv", "result.csv", "--border", "450"), "the size of the field is not known; give --fov"),
        (("truth.csv", "result.csv", "--protocol", "olympic"), "there is no protocol 'olympic'"),
        (("truth.csv", "result.csv", "--protocol", "no.toml"), "no.toml: there is no such file"),
        (("truth.csv", "result.csv", "--wobble", "no.csv"), "no.csv: can't be read"),
        (("truth.csv", "result.csv", "--by", "colour"), "can't be binned by 'colour'"),
        (("truth.csv", "result.csv", "--json", "no/such/s.json"), "the folder no/such does not exist"),
        (("truth.csv", "result.csv", "--csv", "truth.csv"), "truth.csv: is an input"),
        (("truth.csv", "result.csv", "--per-frame", "a.csv", "--per-molecule", "a.csv"), "named for two outputs"),
        (("truth.csv", "result.csv", "--json", "-", "--csv", "-"), "can't both go to standard output"),
        (("truth.csv", "result.csv", "--threads", "0"), "threads is 0; give a whole number from 1"),
        (("truth.csv",), "score needs TRUTH and RESULT"),
    ],
)
def test_wrong_input_is_one_sentence_and_exit_code_2(
    words: tuple[str, ...], sentence: str, files: tuple[Path, Path], monkeypatch: Any
) -> None:
    folder = files[0].parent
    monkeypatch.chdir(folder)
    (folder / "empty.csv").write_text("frame,x,y\n")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    out = run("score", *words)
    assert (out.returncode, out.stdout) == (2, "")
    assert sentence in out.stderr.splitlines()[-1] and "Traceback" not in out.stderr
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_results_with_a_warning_are_no_errors(files: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "nothing.csv").write_text("frame,x,y\n")
    content = scored(files[0], tmp_path / "nothing.csv")
    assert content["flat_metric"]["value"] == 125 and any("no detection at all" in w for w in content["warnings"])
    content = scored(*files, "--frame-base", "-500")
    assert any("--frame-base" in warning for warning in content["warnings"]) and content["challenge"]["tp"] == 0
    content = scored(*files, "--photon-threshold", "1e9")
    assert content["flat_metric"]["value"] is None and content["undefined"]["flat_metric.value"]


def test_what_is_wrong_with_the_truth_is_said_first(files: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("frame,x,y\n1,2,three\n")
    (tmp_path / "worse.csv").write_text("frame,x,y\n1,two,3\n")
    for truth, result, named in (("bad.csv", "worse.csv", "bad.csv"), (str(files[0]), "worse.csv", "worse.csv")):
        out = run("score", tmp_path / truth, tmp_path / result)
        assert out.returncode == 2 and named in out.stderr and out.stderr.count("\n") == 1


def test_a_stop_while_the_files_are_read_stops_the_truth_too(monkeypatch: pytest.MonkeyPatch) -> None:
    finished = []

    def endless(path: Path, options: Any, on_bytes: Callable[[int, int], None], threads: int | None) -> None:
        for done in range(100_000_000):
            on_bytes(done, 100_000_000)
        finished.append(path)

    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(inputs, "read_file", endless)
    with pytest.raises(KeyboardInterrupt):
        inputs.both_tables(Path("t.csv"), Path("r.csv"), ScoreOptions(), meanwhile=interrupted)
    assert not finished


def test_a_closed_pipe_is_no_traceback(files: tuple[Path, Path]) -> None:
    command = f"'{sys.executable}' -m flatmetric score '{files[0]}' '{files[1]}' --json - | head -c 1"
    out = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert "Traceback" not in out.stderr


def test_full_disk_is_one_sentence(files: tuple[Path, Path]) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    command = f"'{sys.executable}' -m flatmetric score '{files[0]}' '{files[1]}' --json - > /dev/full"
    out = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert out.returncode == 2 and "can't write the output" in out.stderr and "Traceback" not in out.stderr


def test_bound_links_and_neighbours(tmp_path: Path) -> None:
    paths = tmp_path / "truth.csv", tmp_path / "result.csv"
    for table, path in zip(scene(frames=12, per_frame=30), paths, strict=True):
        table.to_pandas().to_csv(path, index=False)
    bound = "pixel_size=100,sigma=120,background=20,em=1"
    words = ("--bound", bound, "--link", "60,1", "--by", "neighbour", "--bins", "4", "--ci", "95")
    content = scored(*paths, *words)
    truth, pred = fm.read(paths[0]), fm.read(paths[1])
    imaging = fm.Imaging(pixel_size=100, sigma=120, background=20, em=True)
    alone = fm.score(truth, pred, bound=imaging, link=fm.Link(60, 1)).to_dict()
    assert content["bound"] == alone["bound"] and content["linked"] == alone["linked"]
    assert content["bound"]["ratio"] > 1 and content["linked"]["molecules"] == len(set(truth.id.tolist()))  # type: ignore[union-attr]
    assert content["by"]["quantity"] == "neighbour" and len(content["by"]["bins"]) == 4
    assert content["ci"]["unit"] in ("blocks", "molecules") and "bound.ratio" in content["ci"]["intervals"]
    printed = run("score", *paths, *words).stdout
    for part in (
        "Cramer-Rao bound",
        "linked     ",
        "nearest other molecule [nm]",
        "for this structure",
        "(part of missed)",
    ):
        assert part in printed, part


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--link", "60"), "--link is '60'"),
        (("--link", "60,0.5"), "--link is '60,0.5'"),
        (("--link", "-1,0"), "radius is -1"),
        (("--bound", "pixel_size=100"), "bound lacks sigma"),
        (("--bound", "pixel_size=a,sigma=1,background=1"), "pixel_size is 'a'"),
        (("--bound", "pixel_size=100,sigma=120,background=1,gain=3"), "bound has no 'gain'"),
        (("--by", "colour"), "can't be binned by 'colour'"),
    ],
)
def test_wrong_measures_are_one_sentence(files: tuple[Path, Path], words: tuple[str, ...], sentence: str) -> None:
    out = run("score", *files, *words)
    assert out.returncode == 2 and sentence in out.stderr and "Traceback" not in out.stderr, out.stderr


def test_molecules_by_place_are_said_in_the_json(tmp_path: Path) -> None:
    truth = tmp_path / "activations.csv"
    lines = ["1,1,500,500,0,900", "2,2,500,500,0,900", "3,2,900,500,0,900"]
    truth.write_text("\n".join(["Ground-truth,frame,xnano,ynano,znano,intensity", *lines]) + "\n")
    content = scored(truth, truth)
    assert content["molecules"]["tp"] == 2
    assert any("one molecule" in step for step in content["inputs"]["truth"]["conversions"])


def test_in_2d_the_efficiency_is_printed_once() -> None:
    data = Path(fm.__file__).parent / "data"
    assert run("score", data / "demo_truth.csv", data / "demo_dog.csv").stdout.count("efficiency ") == 1
