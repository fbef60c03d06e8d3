"""board.toml: what it may say, its mistakes, and its reference page."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

import flatmetric as fm
from flatmetric.server.app import ENDPOINTS, openapi
from flatmetric.server.rules import BoardRules, DatasetRules, Limits, Quota, read_rules

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "board.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("titel = 'x'", "there is no titel; did you mean title?"),
        ("title = 3", "title is 3; give a text"),
        ("closes = 2027-01-01T00:00:00", "closes has no offset from UTC; write 2027-01-01T00:00:00+01:00"),
        ("closes = '2027'", "write a time with its offset"),
        ("opens = 2027-02-01T00:00:00Z\ncloses = 2027-01-01T00:00:00Z", "closes comes before opens"),
        ("registration = 'closed'", "registration is 'closed'; give open or invitation"),
        ("entry = 'best'", "entry is 'best'; give last or marked"),
        ("programs_per_team = 0", "programs_per_team is 0; give a whole number from 1"),
        ("show = ['everything']", "show has 'everything'; give some of parts"),
        ("show = 'parts'", "show is 'parts'; give a list of texts"),
        ("quota = 3", "quota is 3; make it a table"),
        ("[quota]\nper_dya = 3", "there is no quota.per_dya; did you mean per_day?"),
        ("[quota]\nper_day = 0", "quota.per_day is 0; give a whole number from 1"),
        ("[limits]\nmegabytes = 'many'", "limits.megabytes is 'many'; give a whole number from 1"),
        ("[score]\nlamb = 3", "score has 'lamb'; did you mean lam?"),
        ("[score]\nlam = -3", "score: lam is -3; give a positive length in nm"),
        ("[score]\nprotocol = 'none'", "score: there is no protocol 'none'"),
        ("[datasets.MT1]\nframes = [1]", "datasets.MT1.frames is [1]; give two numbers above 0"),
        ("[datasets.MT1]\nfinal = 'yes'", "datasets.MT1.final is 'yes'; give true or false"),
        ("[datasets]\nMT1 = 3", "datasets.MT1 is 3; make it a table"),
    ],
)
def test_a_mistake_is_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "board.toml").write_text(text)
    with pytest.raises(fm.InputError) as error:
        read_rules(tmp_path)
    assert sentence in str(error.value) and str(error.value).count("\n") == 0


def test_every_mistake_is_reported(tmp_path: Path) -> None:
    (tmp_path / "board.toml").write_text("titel = 'x'\nentry = 'best'\n[quota]\ntotal = -1\n")
    with pytest.raises(fm.InputError) as error:
        read_rules(tmp_path)
    assert "has 3 mistakes: (1) there is no titel" in str(error.value) and "(3) quota.total" in str(error.value)


def test_rules_come_back_from_the_database(tmp_path: Path) -> None:
    text = "title = 'T'\ncloses = 2027-01-01T00:00:00+05:30\n[score]\nlam = 50\n"
    text += "[datasets.A]\nframes = [1, 9]\nfinal_frames = [5, 9]\n"
    (tmp_path / "board.toml").write_text(text)
    rules = read_rules(tmp_path)
    again = BoardRules.from_json(rules.to_json())
    assert again == rules and again.to_json() == rules.to_json()
    assert again.dataset("A").boards() == {"public": (None, 4), "final": (5, 9)}
    assert again.options(tmp_path).metrics.lam == 50


def test_the_reference_has_every_entry_with_its_default() -> None:
    rows = dict(re.findall(r"^\| `(\w+)`(?:, `\w+`)? \| (.*?) \|", PAGE, re.MULTILINE))
    for kind in (BoardRules, Quota, Limits, DatasetRules):
        for field in dataclasses.fields(kind):
            if field.name in ("quota", "limits", "score", "datasets"):
                assert f"### [{field.name}" in PAGE
            elif field.name != "closes":  # in the row of opens
                told = rows[field.name].strip("`").strip('"')
                if (
                    isinstance(field.default, (int, str))
                    and not isinstance(field.default, bool)
                    and field.name != "title"
                ):
                    assert told == str(field.default), field.name


def test_the_reference_has_every_address_of_the_api() -> None:
    told = set(re.findall(r"^\| `((?:GET|PUT|POST|DELETE) [^`]+)` \| (\w+) \|", PAGE, re.MULTILINE))
    by = {"public": "everybody", "team": "teams", "organiser": "organisers"}
    known = {(f"{one.method} {one.path}", by[one.who]) for one in ENDPOINTS if one.api}
    assert told == known
    assert set(openapi()["paths"]) == {one.split(" ")[1] for one, _ in known}
