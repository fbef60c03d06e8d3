"""Every sample, damaged in many ways: each outcome is a table or one clear sentence."""

from __future__ import annotations

import random
import warnings
from pathlib import Path

import numpy as np
import pytest

import flatmetric as fm
from tests.formats.samples import SAMPLES, Sample

TOKENS = [
    b"nan",
    b"1e400",
    b"-inf",
    b",",
    b"\n",
    b"\r",
    b"\t",
    b'"',
    b"#",
    b"\0",
    b"\xff",
    b"x",
    b"-",
    b"9" * 30,
    b"e",
    b";",
]


def mutated(content: bytes, rng: random.Random) -> bytes:
    """Flip, cut, insert, repeat or overwrite, a few times."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(data) + 1) if data else 0
        kind = rng.randrange(6)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del data[at:]
        elif kind == 2:
            data[at:at] = rng.choice(TOKENS)
        elif kind == 3:
            data[at : at + rng.randrange(1, 20)] = b""
        elif kind == 4:
            data[at : at + 4] = rng.choice((b"\xff" * 4, b"\0" * 4, rng.randbytes(4)))
        else:
            data[at:at] = data[at : at + rng.randrange(1, 200)]
    return bytes(data)


@pytest.mark.parametrize("mutations", [100, pytest.param(2000, marks=pytest.mark.prove)])
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.file)
def test_damage_gives_a_table_or_one_sentence(sample: Sample, mutations: int, tmp_path: Path) -> None:
    path = tmp_path / sample.file
    sample.write(path)
    whole = path.read_bytes()
    rng = random.Random(sample.file)
    tables = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", fm.ReadWarning)
        for _ in range(mutations):
            path.write_bytes(mutated(whole, rng))
            try:
                table = fm.read(path, **sample.options, skip_bad_rows=rng.random() < 0.3)
            except fm.InputError as error:
                said = str(error)
                assert path.name in said or "yaml" in said, said
                assert "\n" not in said and len(said) < 800, said
            else:
                tables += 1
                assert np.isfinite(table.x).all() and np.isfinite(table.y).all()
                assert all(len(column) == len(table) for column in table.columns().values())
    assert tables > 0
