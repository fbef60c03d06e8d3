"""The text parser of the core, against Python's own float."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flatmetric import _core

KIND = _core.CellKind
FAULT = _core.FaultKind


def parser(
    kinds: list[_core.CellKind], delimiter: str = ",", skip: bool = False, blank: bool = False
) -> _core.NumberTable:
    return _core.NumberTable(
        delimiter=delimiter,
        columns=list(enumerate(kinds)),
        cells_per_row=len(kinds),
        ends_at_blank_line=blank,
        skip_bad_rows=skip,
        expected_rows=1,
    )


def column(text: str) -> list[float]:
    table = parser([KIND.number])
    table.feed(text.encode())
    assert table.finish(), table.fault.cell
    return list(table.take()[0])


def spellings(rng: random.Random) -> str:
    """Numbers as programs write them, and halfway cases that a wrong rounding would miss."""
    choice = rng.randrange(6)
    if choice == 0:
        return repr(rng.uniform(-7000, 7000))
    if choice == 1:
        return f"{rng.uniform(0, 1e6):.{rng.randint(0, 17)}f}"
    if choice == 2:
        return f"{rng.uniform(-1, 1) * 10 ** rng.randint(-40, 40):.{rng.randint(0, 20)}e}"
    if choice == 3:
        return str(rng.randint(0, 10 ** rng.randint(1, 25))) + "." + "0" * rng.randint(0, 4)
    halfway = 2 * rng.randint(2**52, 2**53 - 1) + 1
    power = rng.randint(0, 8)
    return f"{halfway * 5**power}e-{power}" if choice == 4 else f"{halfway}.{'0' * power}{rng.choice('01')}"


def test_numbers_are_correct_to_the_last_bit() -> None:
    rng = random.Random(1)
    cells = [spellings(rng) for _ in range(100_000)]
    assert column("\n".join(cells)) == [float(cell) for cell in cells]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_every_float_comes_back(values: list[float]) -> None:
    assert column("\n".join(map(repr, values)) + "\n") == values


@pytest.mark.parametrize("text", ["+1.5", " 1.5 ", '"1.5"', '" 1.5 "', "1.5e0", "15E-1", "0001.5", ".15e1"])
def test_spellings_of_one_number(text: str) -> None:
    assert column(text) == [1.5]


def test_tiny_numbers_are_no_fault() -> None:
    assert column("1e-400\n4e-324") == [0.0, 5e-324]


def test_pieces_may_break_anywhere() -> None:
    text = b'1,2.5,"x, y"\r\n-3,4e2,7\r\r\n# comment\n5,6,7,\n8,9,10'
    whole = None
    for size in (1, 2, 3, 5, 100):
        table = _core.NumberTable(
            delimiter=",",
            columns=[(0, KIND.whole), (1, KIND.number)],
            cells_per_row=3,
            ends_at_blank_line=False,
            skip_bad_rows=False,
            expected_rows=0,
        )
        for at in range(0, len(text), size):
            table.feed(text[at : at + size])
        assert table.finish()
        found = [values.tolist() for values in table.take()]
        whole = whole or found
        assert found == whole == [[1, -3, 5, 8], [2.5, 400.0, 6.0, 9.0]]


@pytest.mark.parametrize(
    ("row", "kind", "place"),
    [
        ("1,2,3", FAULT.ragged, 0),
        ("1", FAULT.ragged, 0),
        ("1,", FAULT.empty, 2),
        ("x,1", FAULT.text, 1),
        ("1,1.5.2", FAULT.text, 2),
        ("1,0x10", FAULT.text, 2),
        ("1,1_000", FAULT.text, 2),
        ("1,--2", FAULT.text, 2),
        ("1,+-2", FAULT.text, 2),
        ("1,nan", FAULT.not_finite, 2),
        ("1,-Infinity", FAULT.not_finite, 2),
        ("1,1e999", FAULT.too_large, 2),
        ("1.5,2", FAULT.not_whole, 1),
        ("1e300,2", FAULT.too_large, 1),
    ],
)
def test_faults_name_their_place(row: str, kind: _core.FaultKind, place: int) -> None:
    table = parser([KIND.whole, KIND.number])
    table.feed(f"1,2\n\n{row}\n5,6\n".encode())
    assert not table.finish()
    assert (table.fault.kind, table.fault.line, table.fault.column) == (kind, 3, place)
    forgiving = parser([KIND.whole, KIND.number], skip=True)
    forgiving.feed(f"1,2\n\n{row}\n5,6\n".encode())
    assert forgiving.finish() and forgiving.skipped == {kind: 1}
    assert [values.tolist() for values in forgiving.take()] == [[1, 5], [2, 6]]


def test_optional_cells_may_hold_anything() -> None:
    table = parser([KIND.number, KIND.optional])
    table.feed(b"1,abc\n2,\n3,nan\n4,5\n")
    assert table.finish()
    np.testing.assert_array_equal(table.take()[1], [np.nan, np.nan, np.nan, 5])


def test_footer_after_a_blank_line_is_not_read() -> None:
    table = parser([KIND.number], blank=True)
    table.feed(b"1\n2\n\0\r\r\nVoxel : 5\n")
    assert table.finish() and table.take()[0].tolist() == [1, 2]


def test_runs_of_blanks_are_one_delimiter() -> None:
    table = parser([KIND.number, KIND.number], delimiter=" ")
    table.feed(b"  1   2\n3\t4  \n")
    assert table.finish() and [v.tolist() for v in table.take()] == [[1, 3], [2, 4]]


def test_a_part_of_a_text_is_read_as_if_alone() -> None:
    table = parser([KIND.whole, KIND.whole])
    text = b"1,2\n3,4\n5,6\n"
    table.feed(text, 4, 8)
    table.feed(text, 8)
    table.finish()
    assert [column.tolist() for column in table.take()] == [[3, 5], [4, 6]]
    for begin, end in ((0, len(text) + 1), (9, 8)):
        with pytest.raises(IndexError, match="beyond the text"):
            parser([KIND.whole, KIND.whole]).feed(text, begin, end)


def test_endless_line_is_refused() -> None:
    table = parser([KIND.number])
    for _ in range(100):
        if not table.feed(b"1" * 100_000):
            break
    assert table.fault.kind is FAULT.long_line
