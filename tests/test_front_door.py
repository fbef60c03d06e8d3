"""The same answers from Python as from the command line: inputs of any kind, one warning, and results that show
themselves.
"""

from __future__ import annotations

import dataclasses
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flatmetric as fm
from flatmetric.formats.write import write
from tests.scenes import run, world

DATA = Path(fm.__file__).parent / "data"
SCHEMA = DATA / "score-1.schema.json"
TRUTH, DOG = DATA / "demo_truth.csv", DATA / "demo_dog.csv"


@pytest.fixture(scope="module")
def tables() -> tuple[fm.Localizations, fm.Localizations]:
    return fm.read(TRUTH), fm.read(DOG)


def kinds_of_table(table: fm.Localizations) -> dict[str, Any]:
    import polars as pl
    import pyarrow as pa

    columns = {name: getattr(table, name) for name in ("frame", "x", "y", "photons")}
    return {
        "table": table,
        "dict": columns,
        "pandas": table.to_pandas(),
        "polars": pl.DataFrame(columns),
        "arrow": pa.table(columns),
    }


@pytest.mark.parametrize("kind", ["table", "dict", "pandas", "polars", "arrow"])
def test_truth_and_result_may_be_files_or_tables(kind: str, tables: tuple[fm.Localizations, fm.Localizations]) -> None:
    expected = fm.score(TRUTH, DOG).flat_metric
    truth, pred = (kinds_of_table(table)[kind] for table in tables)
    assert fm.score(truth, pred).flat_metric == expected
    assert fm.score(str(TRUTH), pred).flat_metric == expected
    assert fm.compare(truth, {"a": pred, "b": DOG}).scores[0].flat_metric == expected
    assert fm.check(truth, pred) == fm.check(TRUTH, DOG)
    assert fm.inspect(pred).rows == fm.inspect(DOG).rows


def test_protocol_tolerance_and_level_are_plain_values() -> None:
    score = fm.score(TRUTH, DOG, protocol="challenge2016", tolerance=100, ci=95)
    rules = fm.Protocol.preset("challenge2016").changed(tolerance=100)
    assert score.challenge == fm.score(TRUTH, DOG, protocol=rules).challenge
    assert score.intervals == fm.confidence(score) and score.protocol.tolerance == 100


def test_reading_options_work_on_tables(tables: tuple[fm.Localizations, fm.Localizations]) -> None:
    truth, pred = tables
    pixels = {"frame": pred.frame - 1, "x": pred.x / 100, "y": pred.y / 100}
    score = fm.score(truth, pixels, unit="px", pixel_size=100, frame_base=0)
    assert score.flat_metric.value == pytest.approx(fm.score(truth, pred, dim=2).flat_metric.value)


def shifted(pred: fm.Localizations) -> fm.Localizations:
    return dataclasses.replace(pred, x=pred.x + 80.0)


def test_findings_are_one_warning_and_can_be_turned_off() -> None:
    truth, pred = world()
    wrong = dataclasses.replace(shifted(pred), frame=pred.frame + 1)
    with pytest.warns(fm.FindingWarning, match=r"frames are off by \+1.*; everything is shifted") as caught:
        score = fm.score(truth, wrong)
    assert len(caught) == 1 and caught[0].filename == __file__
    assert [finding.kind for finding in score.findings] == ["frame_offset", "shift"]
    with pytest.warns(fm.FindingWarning, match="b: everything is shifted") as caught:
        fm.compare(truth, {"a": pred, "b": shifted(pred)})
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(fm.score(truth, wrong, check=False).findings) == 0
        fm.compare(truth, {"a": pred, "b": shifted(pred)}, check=False)


def planted(folder: Path) -> dict[str, Path]:
    """A truth, a right result, and wrong ones, as files."""
    truth, pred = world()
    wrong = {
        "right": pred,
        "late": dataclasses.replace(pred, frame=pred.frame + 3),
        "moved": shifted(pred),
        "pixels": dataclasses.replace(pred, x=pred.x / 100, y=pred.y / 100),
        "swapped": dataclasses.replace(pred, x=pred.y, y=pred.x),
        "mirrored": dataclasses.replace(pred, y=6400 - pred.y),
        "wide": dataclasses.replace(pred, x=pred.x * 1.02, y=pred.y * 1.02),
        "doubled": pred.select(np.repeat(np.arange(len(pred)), 2)),
    }
    for name, table in {"truth": truth, **wrong}.items():
        write(table, folder / f"{name}.csv", "thunderstorm")
    return {name: folder / f"{name}.csv" for name in ("truth", *wrong)}


@pytest.mark.parametrize("name", ["late", "moved", "pixels", "swapped", "mirrored", "wide", "doubled"])
def test_every_fix_works_where_it_is_proposed(name: str, tmp_path: Path) -> None:
    files = planted(tmp_path)
    right = fm.score(files["truth"], files["right"]).flat_metric.value
    assert right is not None
    findings = fm.check(files["truth"], files[name])
    (finding,) = findings
    fixed = fm.score(files["truth"], findings.apply(fm.read(files[name])))
    assert fixed.findings == [] and fixed.flat_metric.value == pytest.approx(right, abs=2.0)
    # as options of the command that proposed it
    said = run("score", files["truth"], files[name]).stderr.splitlines()[0]
    assert said.startswith(f"{finding.severity}: ") and finding.severity != "note"
    words = said.split(": ")[-1].split(" (")[0].split()
    if finding.options:
        out = run("score", files["truth"], files[name], *words, "--json", "-")
    else:
        assert words[:4] == ["flatmetric", "check", "TRUTH", "RESULT"]
        places = {"TRUTH": files["truth"], "RESULT": files[name], "FIXED.csv": tmp_path / "fixed.csv"}
        assert run(*[places.get(word, word) for word in words[1:]]).returncode == 0
        out = run("score", files["truth"], tmp_path / "fixed.csv", "--json", "-")
    content = json.loads(out.stdout)
    assert content["flat_metric"]["value"] == pytest.approx(right, abs=2.0) and content["findings"] == []
    # for one file among many, in submissions.toml
    compared = run("compare", files["truth"], files["right"], files[name]).stderr
    assert f"{finding.severity}: {name}: " in compared
    if finding.options:
        lines = (
            compared.split("submissions.toml: ")[1].split(")\n")[0].replace(", ", "\n", compared.count("shift") == 0)
        )
        lines = lines.replace(", pixel_size", "\npixel_size")
        (tmp_path / "submissions.toml").write_text(f'["{name}.csv"]\n{lines}\n')
        out = run("compare", files["truth"], files["right"], files[name])
        assert "finding" not in out.stderr, out.stderr


def test_every_result_shows_itself(tables: tuple[fm.Localizations, fm.Localizations], tmp_path: Path) -> None:
    folder = tmp_path / "D" / "results"
    folder.mkdir(parents=True)
    (tmp_path / "D" / "truth.csv").write_bytes(TRUTH.read_bytes())
    for name in ("dog", "baseline"):
        (folder / f"{name}.csv").write_bytes((DATA / f"demo_{name}.csv").read_bytes())
    results: list[Any] = [
        fm.score(*tables),
        fm.compare(TRUTH, {"dog": DOG, "baseline": DATA / "demo_baseline.csv"}),
        fm.leaderboard(tmp_path),
        tables[0],
        fm.check(*tables),
    ]
    for result in results:
        html = result._repr_html_()
        assert html.startswith("<div") and "color:black" not in html and "background:white" not in html
        picture = result.plot()
        assert picture._repr_png_().startswith(b"\x89PNG")
        fm.report(result, tmp_path / "page.html")
        page = (tmp_path / "page.html").read_text(encoding="utf-8")
        assert page.startswith("<!doctype html>") and str(tmp_path) not in page and str(DATA) not in page
        assert len(result.to_pandas()) > 0 or isinstance(result, fm.Findings)


def test_a_frame_that_is_not_there_can_not_be_drawn() -> None:
    score = fm.score(TRUTH, DOG)
    assert score.plot(frame=60).axes[0].get_title().startswith("frame 60:")
    with pytest.raises(fm.InputError, match="frame is 9999, which has no molecule and no detection; they go from 1 to"):
        score.plot(frame=9999)


def test_only_public_names_are_listed() -> None:
    assert dir(fm) == sorted(fm.__all__)
    assert all(getattr(fm, name) is not None for name in dir(fm))


POINT: dict[str, Any] = {"frame": [1], "x": [1.0], "y": [1.0]}
WRONG: dict[str, tuple[Any, str]] = {
    "no file": (lambda: fm.score("none.csv", DOG), "none.csv: there is no such file"),
    "a number": (lambda: fm.score(TRUTH, 3), "pred: a int is not a table; give a file"),
    "no column": (lambda: fm.check(TRUTH, {"x": [1.0]}), "pred: no column is known as x and y, its header has x"),
    "no rows": (lambda: fm.check({"frame": [], "x": [], "y": []}, DOG), "the truth has no row"),
    "one result": (lambda: fm.compare(TRUTH, {"a": DOG}), "one result can't be compared"),
    "a table as results": (lambda: fm.compare(TRUTH, POINT), "one result can't be compared"),
    "an unknown protocol": (lambda: fm.score(TRUTH, DOG, protocol="challenge2017"), "there is no protocol"),
    "a wrong protocol": (lambda: fm.score(TRUTH, DOG, protocol=3), "protocol is 3; give challenge2016, a TOML file"),  # type: ignore[arg-type]
    "a wrong unit": (lambda: fm.score(TRUTH, DOG, unit="mm"), "unit is 'mm'; give one of nm, um, m, px"),
    "a wrong level": (lambda: fm.score(TRUTH, DOG, ci=100), "the confidence level is 100"),
    "a format of a table": (
        lambda: fm.inspect({"frame": [1], "x": [1.0], "y": [1.0]}, format="tsf"),
        "can't be read as Micro-Manager tagged spot file; leave format= out",
    ),
    "no folder": (lambda: fm.leaderboard("nowhere"), "nowhere: is not a folder"),
    "a folder of nothing": (lambda: fm.leaderboard(3), "folder is 3; give a path"),  # type: ignore[arg-type]
    "no data set": (lambda: fm.simulate(dataset="MT9", out="x"), "dataset is 'MT9'"),
    "no out": (lambda: fm.simulate(dataset="MT1.N1.LD"), "out is missing; give out="),  # type: ignore[call-arg]
    "no stack": (lambda: fm.localize("none.tif"), "none.tif"),
    "no method": (lambda: fm.localize("none.tif", method="magic"), "method is 'magic'"),
    "wrong settings": (lambda: fm.localize("none.tif", settings=3), "settings is 3; give a dict"),  # type: ignore[arg-type]
    "no score": (lambda: fm.confidence(3), "score is a int"),  # type: ignore[arg-type]
    "no result": (lambda: fm.report(3, "x.html"), "result is a int"),  # type: ignore[arg-type]
    "nothing to validate": (lambda: fm.validate([]), "files is empty"),
    "nothing to hold it against": (lambda: fm.validate(DOG, against=SCHEMA), "not a simulation.json, protocol"),
    "no suffix": (lambda: fm.convert(DOG, "out.xyz"), "its suffix does not say which format to write"),
    "no target": (lambda: fm.convert(DOG, 3), "target is 3; give a path"),  # type: ignore[arg-type]
    "a level in words": (lambda: fm.score(TRUTH, DOG, ci="95"), "ci is '95'; give a number"),  # type: ignore[arg-type]
    "threads in words": (lambda: fm.score(TRUTH, DOG, threads="a"), "threads is 'a'"),  # type: ignore[arg-type]
    "its own input": (lambda: fm.convert(DOG, DOG, to="thunderstorm"), "is the input; give another name"),
    "a number to read": (lambda: fm.read(3), "file: a int is not a table"),
    "a table to validate": (lambda: fm.validate(POINT), "files is a dict; give a path"),  # type: ignore[arg-type]
    "a wobble of nothing": (lambda: fm.score(TRUTH, DOG, wobble=3), "wobble is 3; give a CSV file"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_input_is_one_sentence(name: str) -> None:
    call, said = WRONG[name]
    with pytest.raises(fm.InputError) as caught:
        call()
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_the_field_comes_from_the_file_or_is_asked_for(tmp_path: Path) -> None:
    truth, pred = world()
    small = [dataclasses.replace(table, x=table.x / 2, y=table.y / 2, z=None) for table in (truth, pred)]
    with pytest.warns(fm.FindingWarning, match="the rules take a field of 6400 x 6400 nm, but the truth reaches to 3"):
        score = fm.score(*small, protocol="challenge2016")
    assert score.protocol.fov == (6400, 6400) and score.findings[0].options == {"fov": 3200.0}
    assert fm.score(*small, protocol="challenge2016", fov=3200).findings == []
    pixels = dataclasses.replace(small[1].provenance, pixel_size=(100.0, 100.0))
    inside = small[1].select((small[1].x < 3200) & (small[1].y < 3200))
    write(dataclasses.replace(inside, provenance=pixels), tmp_path / "mine.hdf5", "picasso")
    from_file = fm.score(small[0], tmp_path / "mine.hdf5", protocol="challenge2016")
    assert from_file.protocol.fov == (3200, 3200) and from_file.findings == []


def test_a_proper_submission(tmp_path: Path) -> None:
    made = fm.simulate(dataset="MT4.N2.HD", out=tmp_path / "D", frames=20)
    result = tmp_path / "mine.csv"
    fm.localize(made.stack, out=result)
    against = made.stack.with_name("simulation.json")
    (good,) = fm.validate(result, against=against)
    assert good.ok and good.rows and "a proper submission" in good.message()
    table = fm.read(result)
    wrong = {
        "pixels": (dataclasses.replace(table, x=table.x / 100, y=table.y / 100), "they are not in nm"),
        "late": (dataclasses.replace(table, frame=table.frame + 5), "rows are in frames beyond 1 to 20"),
        "zero": (dataclasses.replace(table, frame=table.frame - 1), "have a frame below 1"),
        "outside": (dataclasses.replace(table, x=table.x + 3000), "lie outside the field of 6400 x 6400 nm"),
        "doubled": (table.select(np.repeat(np.arange(len(table)), 2)), "repeat another"),
        "half": (table.select(table.frame < 8), "it ends at frame 7 of 20"),
    }
    for name, (one, said) in wrong.items():
        write(one, tmp_path / f"{name}.csv", "thunderstorm")
        (bad,) = fm.validate(tmp_path / f"{name}.csv", against=against)
        assert not bad.ok and any(said in problem for problem in bad.problems), (name, bad)
    (tmp_path / "broken.csv").write_text("frame,x,y\n1,2\n")
    (tmp_path / "gaps.csv").write_text("frame,x,y\n1,2,3\n1,nan,3\n")
    out = run("validate", result, tmp_path / "broken.csv", tmp_path / "gaps.csv")
    assert out.returncode == 1 and out.stderr == ""
    assert "row 2, has 2 cells" in out.stdout and "'nan', not a finite number" in out.stdout
    assert "broken.csv: please correct and send again" in out.stdout and "Traceback" not in out.stdout
    assert run("validate", tmp_path / "none.csv").returncode == 2
    out = run("validate", result, tmp_path / "gaps.csv", "--skip-bad-rows", "--json", "-")
    content = json.loads(out.stdout)
    assert [one["ok"] for one in content["files"]] == [True, False] and not content["ok"]
    assert run("validate", result).returncode == 0


def test_check_can_be_strict(tmp_path: Path) -> None:
    files = planted(tmp_path)
    assert run("check", files["truth"], files["right"], "--strict").returncode == 0
    assert run("check", files["truth"], files["late"], "--strict").returncode == 1
    assert run("check", files["truth"], files["late"]).returncode == 0
