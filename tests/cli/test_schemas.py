"""What commands write as JSON follows the schemas of the package."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import jsonschema
import pytest

from tests.scenes import run

DATA = resources.files("flatmetric") / "data"
ROOT = Path(__file__).parents[2]
FILES = {name: str(DATA / f"demo_{name}.csv") for name in ("truth", "baseline", "dog")}
COMMANDS = {
    "score": ["score", FILES["truth"], FILES["baseline"], "--ci", "95", "--curve", "200", "--by", "photons"],
    "compare": ["compare", FILES["truth"], FILES["baseline"], FILES["dog"], "--curve"],
    "check": ["check", FILES["truth"], FILES["dog"], "--shift", "80,0"],
    "inspect": ["inspect", FILES["truth"]],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_output_follows_its_schema(name: str) -> None:
    file = f"{name}-1.schema.json"
    schema = json.loads((DATA / file).read_text(encoding="utf-8"))
    assert (ROOT / schema["$id"]).name == file and (ROOT / schema["$id"]).is_file()
    jsonschema.Draft202012Validator.check_schema(schema)
    content = json.loads(run(*COMMANDS[name], "--json", "-").stdout)
    jsonschema.validate(content, schema)
    assert set(content) <= set(schema["properties"]), "a key that the schema does not describe"
    for key in schema["required"]:
        with pytest.raises(jsonschema.ValidationError, match=key):
            jsonschema.validate({other: content[other] for other in content if other != key}, schema)
