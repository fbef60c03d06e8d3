"""Tables in text: where the header is, which delimiter, and the columns as numbers."""

from __future__ import annotations

import codecs
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from flatmetric._arrays import MAY_HAVE_GAPS, WHOLE_COLUMNS, Storage, release, whole_numbers
from flatmetric._core import CellKind, Fault, FaultKind, NumberTable
from flatmetric._dataclass import dataclass
from flatmetric.errors import InputError
from flatmetric.formats.headers import Heading, heading
from flatmetric.formats.source import Source

_DELIMITERS = "\t;,|"
_LINE = re.compile(rb"([^\r\n]*)(\r\n|\n|\r|$)")
_DECIMAL_COMMA = re.compile(r"^[-+]?\d+,\d+(e[-+]?\d+)?$", re.IGNORECASE)
_DECIMAL_POINT = re.compile(r"^[-+]?\d*\.\d+", re.IGNORECASE)
_NUMBER = re.compile(r"^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$|^[-+]?(nan|inf|infinity)$", re.IGNORECASE)
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_LOOKED_AT_LINES = 200  # enough to find delimiter and decimal sign, quick for wide tables
_DECIDING_LINES = 50  # for the delimiter
_NUMBERS_IN_A_ROW = 2  # at least; a remark may hold one
_LONGEST_BLOCK = 4 << 20  # bytes without a line ending

# A block of text as slices of pieces: the piece, where the slice begins, where it ends.
_Block = list[tuple[bytes, int, int]]


def text_pieces(source: Source) -> Iterator[bytes]:
    """The content as bytes of an encoding that extends ASCII, without a byte order mark."""
    pieces = source.pieces()
    for bom, encoding in _BOMS:
        if source.head.startswith(bom):
            skip = len(bom)
            decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
            for piece in pieces:
                rest = piece[skip:]
                yield rest if encoding == "utf-8" else decoder.decode(rest).encode()
                skip = 0
            return
    yield from pieces


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the head: its text, its number from 1, and where it begins and ends."""

    text: str
    number: int
    offset: int
    end: int


class TextHead:
    """The beginning of a text file, taken apart: comments, header, delimiter, first row."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._used = set[int]()
        start = source.head
        self.is_text = not re.search(rb"[\x00-\x08\x0e-\x1f]", start[:64]) or start.startswith(
            (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
        )

    @cached_property
    def lines(self) -> list[Line]:
        """The first lines, blank ones left out."""
        if not self.is_text:
            return []
        content = next(text_pieces(self.source), b"")[: len(self.source.head)]
        lines: list[Line] = []
        number, at = 0, 0
        rows = 0
        while at < len(content) and rows < _LOOKED_AT_LINES:
            match = _LINE.match(content, at)
            assert match is not None
            number += 1
            if match[1].strip(b" \t\0"):
                lines.append(Line(_decoded(match[1]), number, at, match.end()))
                rows += not match[1].startswith(b"#")
            at = match.end()
        return lines

    @cached_property
    def comments(self) -> list[Line]:
        """The comment lines before the table."""
        comments = []
        for line in self.lines:
            if not line.text.startswith("#"):
                break
            comments.append(line)
        return comments

    @cached_property
    def _body(self) -> list[Line]:
        return [line for line in self.lines if not line.text.startswith("#")]

    @cached_property
    def delimiter(self) -> str:
        """The character between cells; a blank means any run of blanks."""
        lines = [line.text for line in self._body[:_DECIDING_LINES]]
        lines = lines or [line.text.lstrip("# \t") for line in self.comments[-1:]]

        def merit(delimiter: str) -> tuple[int, int, int]:
            cells = [split(line, delimiter) for line in lines]
            rows = [row for row in cells if sum(map(_is_number, row)) >= _NUMBERS_IN_A_ROW]
            # The most rows of numbers win, then the most cells.
            return len(rows), max((len(row) for row in rows or cells), default=0), -_DELIMITERS.find(delimiter)

        best: str = max(_DELIMITERS, key=merit)
        # Blanks also occur inside cells and after other delimiters, so they are used only if no other delimiter fits.
        by_blanks = merit(" ")
        if merit(best)[0] == 0 and (by_blanks[0] > 0 or merit(best)[1] < 2 <= by_blanks[1]):
            return " "
        return best

    @cached_property
    def _first_row_at(self) -> int:
        """Index in the body of the first line that is a row of numbers; the length where there is none."""
        for at, line in enumerate(self._body):
            cells = split(line.text, self.delimiter)
            numbers = sum(map(_is_number, cells))
            counted = cells == [str(k) for k in range(len(cells))] and len(cells) > 2  # a header of column numbers
            if (numbers >= _NUMBERS_IN_A_ROW or numbers == len(cells)) and not (at == 0 and counted):
                return at
        return len(self._body)

    @cached_property
    def header(self) -> list[Heading] | None:
        """The column names: the last line before the first row, or a comment of as many cells."""
        if self._first_row_at > 0:
            return [heading(cell) for cell in split(self._body[self._first_row_at - 1].text, self.delimiter)]
        if self.comments:
            cells = split(self.comments[-1].text.lstrip("# \t"), self.delimiter)
            width = len(self.first_row) if self.first_row is not None else len(cells)
            if len(cells) == width > 1 and not any(_NUMBER.match(cell) for cell in cells):
                return [heading(cell) for cell in cells]
        return None

    @cached_property
    def names(self) -> list[str]:
        """The header's cells in lower case, without quotes and outer blanks; empty without a header."""
        return [h.text.lower() for h in self.header or []]

    @cached_property
    def first_row(self) -> list[str] | None:
        """The cells of the first row, None when there is no row."""
        if self._first_row_at >= len(self._body):
            return None
        cells = split(self._body[self._first_row_at].text, self.delimiter)
        return [cell.replace(",", ".") for cell in cells] if self.has_decimal_commas else cells

    @cached_property
    def has_decimal_commas(self) -> bool:
        """Whether numbers have a comma for a point, as spreadsheets write them in many countries."""
        if self.delimiter == ",":
            return False
        rows = self._body[self._first_row_at : self._first_row_at + _DECIDING_LINES]
        cells = [cell for line in rows for cell in split(line.text, self.delimiter)]
        return any(map(_DECIMAL_COMMA.match, cells)) and not any(map(_DECIMAL_POINT.match, cells))

    @cached_property
    def data_line(self) -> Line:
        """The line where rows begin."""
        if self._first_row_at < len(self._body):
            return self._body[self._first_row_at]
        last = self.lines[-1]
        return Line("", last.number + 1, last.end, last.end)

    def has(self, *names: str) -> bool:
        """Whether the header has all these names, in any order and case."""
        return bool(self.names) and set(names) <= set(self.names)

    def read(self, wanted: Mapping[str, int], skip_bad_rows: bool, *, ends_at_blank_line: bool = False) -> TextColumns:
        """Columns by their places, from 0.

        A bad row is an error that names row and column, or is dropped and counted with `skip_bad_rows`.
        """
        self._used = set(wanted.values())
        return _read_columns(self, wanted, skip_bad_rows, ends_at_blank_line)

    @property
    def unused(self) -> list[str]:
        """The names of the columns that were not read; empty before `read`, and without a header."""
        names = [(at, h.text) for at, h in enumerate(self.header or []) if h.text]
        return [name for at, name in names if self._used and at not in self._used]


def split(text: str, delimiter: str) -> list[str]:
    """The cells of one line, without outer blanks and quotes.

    Examples
    --------
    >>> split('"id";"x [nm]"', ";")
    ['id', 'x [nm]']
    >>> split(" 1,  9039, 43.325 ", ",")
    ['1', '9039', '43.325']
    """
    line = text.strip(" \r\n\0") if delimiter == "\t" else text.strip(" \t\r\n\0")
    inner = line[1:-1]
    if line.startswith('"') and line.endswith('"') and '""' in inner and '"' not in inner.replace('""', ""):
        line = inner.replace('""', '"')  # a spreadsheet has quoted the whole line once more
    if delimiter == " ":
        return line.split()
    if '"' not in line:
        return [cell.strip() for cell in line.split(delimiter)]
    cells, cell, quoted = [], "", False
    for character in line:
        if character == '"':
            quoted = not quoted
        elif character == delimiter and not quoted:
            cells.append(cell.strip())
            cell = ""
        else:
            cell += character
    return [*cells, cell.strip()]


def _is_number(cell: str) -> bool:
    return bool(_NUMBER.match(cell) or _DECIMAL_COMMA.match(cell))


def _decoded(line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return line.decode("latin-1")


@dataclass(frozen=True, slots=True)
class TextColumns:
    """Columns read from text, and how many rows were dropped for which reason."""

    columns: dict[str, npt.NDArray[Any]]
    dropped: dict[str, int]
    notes: list[str]


class _Growing:
    """A column that arrives in parts; they are copied into one array, so that their memory can be freed."""

    def __init__(self, expected_rows: int, storage: Storage) -> None:
        self._expected_rows, self._storage = expected_rows, storage
        self._room: npt.NDArray[Any] | None = None
        self._rows = 0

    def add(self, part: npt.NDArray[Any]) -> None:
        rows = self._rows + len(part)
        if self._room is None:
            self._room = part
        else:
            if rows > len(self._room):
                grown = self._storage.empty(max(self._expected_rows, rows, 2 * len(self._room)), part.dtype)
                grown[: self._rows] = self.values
                self._room = grown
            self._room[self._rows : rows] = part
        self._rows = rows

    @property
    def values(self) -> npt.NDArray[Any]:
        return np.zeros(0) if self._room is None else self._room[: self._rows]


def _read_columns(
    head: TextHead, wanted: Mapping[str, int], skip_bad_rows: bool, ends_at_blank_line: bool
) -> TextColumns:
    source, start = head.source, head.data_line
    order = sorted(wanted, key=lambda name: wanted[name])
    width = len(head.header) if head.header is not None else len(head.first_row or [])
    shorter = head.first_row is not None and head.header is not None and len(head.first_row) == width - 1
    if shorter and head.header is not None and not head.header[-1].text:
        width -= 1  # only the header ends in a delimiter
    places = sorted(set(wanted.values()))
    kinds = [(place, _kind([name for name in order if wanted[name] == place])) for place in places]
    bytes_per_row = _bytes_per_row(head)

    def parsed(block: _Block) -> NumberTable:
        table = NumberTable(
            delimiter=head.delimiter,
            columns=kinds,
            cells_per_row=width,
            ends_at_blank_line=ends_at_blank_line,
            skip_bad_rows=skip_bad_rows,
            expected_rows=int(sum(end - begin for _, begin, end in block) / bytes_per_row) + 16,
        )
        for piece, begin, end in block:
            table.feed(piece.replace(b",", b".") if head.has_decimal_commas else piece, begin, end)
        table.finish()
        return table

    blocks = _blocks(text_pieces(source), start.offset)
    # After the end of the table comes a footer, which must not be parsed.
    tables = map(parsed, blocks) if ends_at_blank_line else _in_order(parsed, blocks, source.threads)
    expected_rows = int(1.02 * source.size / bytes_per_row)  # of a file that is not packed
    growing = [_Growing(expected_rows, source.storage) for _ in places]
    dropped: dict[str, int] = {}
    notes: list[str] = []
    line = start.number - 1
    for table in tables:
        if table.fault.kind is not FaultKind.none:
            raise InputError(f"{source.name}: {_sentence(table.fault, line, head, width)}")
        if table.skipped and not dropped:
            notes.append(f"the first bad row: {_sentence(table.first_skipped, line, head, width, with_fix=False)}")
        for kind, count in table.skipped.items():
            dropped[_REASONS[kind]] = dropped.get(_REASONS[kind], 0) + count
        for column, values in zip(growing, table.take(), strict=True):
            column.add(values)
        line += table.lines
        if source.on_disk:
            release()
        if table.ended_early:
            break
    joined = {place: column.values for place, column in zip(places, growing, strict=True)}
    # A column used under two names is copied, or it would be converted twice.
    used: set[int] = set()
    own: dict[str, npt.NDArray[Any]] = {}
    for name in order:
        own[name] = joined[wanted[name]].copy() if wanted[name] in used else joined[wanted[name]]
        used.add(wanted[name])
    columns, more_notes = whole_columns(own)
    commas = ["decimal commas read as points"] if head.has_decimal_commas else []
    return TextColumns(columns, dropped, [*commas, *notes, *more_notes])


def _blocks(pieces: Iterator[bytes], skip: int) -> Iterator[_Block]:
    """Whole lines, a few megabytes at a time, without the first `skip` bytes."""
    begun: _Block = []
    size = 0
    for piece in pieces:
        start = min(skip, len(piece))
        skip -= start
        # A block must not end between \r and \n.
        end = piece.rfind(b"\n", start) + 1 or piece.rfind(b"\r", start, -1) + 1
        if end == 0 and size > _LONGEST_BLOCK:
            end = len(piece)  # no line ending: the parser reports it
        if end:
            yield [*begun, (piece, start, end)]
            begun, size, start = [], 0, end
        if start < len(piece):
            begun.append((piece, start, len(piece)))
            size += len(piece) - start
    if begun:
        yield begun


def _in_order(work: Callable[[_Block], NumberTable], blocks: Iterator[_Block], threads: int) -> Iterator[NumberTable]:
    """Process several blocks at a time, a few ahead of the consumer; results are in the order of the blocks."""
    with ThreadPoolExecutor(threads) as pool:
        ahead: deque[Future[NumberTable]] = deque()
        try:
            for block in blocks:
                ahead.append(pool.submit(work, block))
                if len(ahead) > threads:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            for waiting in ahead:
                waiting.cancel()


def _kind(names: list[str]) -> CellKind:
    if "frame" in names:
        return CellKind.whole
    if all(name.startswith((*MAY_HAVE_GAPS, *WHOLE_COLUMNS)) for name in names):
        return CellKind.optional
    return CellKind.number


def whole_columns(columns: dict[str, npt.NDArray[Any]]) -> tuple[dict[str, npt.NDArray[Any]], list[str]]:
    """Convert whole-number columns to integers; leave out those that have other values."""
    kept, notes = {}, []
    for name, values in columns.items():
        if name not in WHOLE_COLUMNS or values.dtype.kind == "i":
            kept[name] = values
        elif (whole := whole_numbers(values)) is not None:
            kept[name] = whole
        else:
            notes.append(f"the column for {name} holds values that are not whole numbers and was left out")
    return kept, notes


def _bytes_per_row(head: TextHead) -> float:
    looked_at = head.source.head[head.data_line.offset :]
    lines = max(looked_at.count(b"\n"), looked_at.count(b"\r"))
    return len(looked_at) / lines if lines else max(1, len(looked_at))


_REASONS = {
    FaultKind.ragged: "a different number of cells from the header",
    FaultKind.empty: "an empty cell",
    FaultKind.text: "text where a number should be",
    FaultKind.not_finite: "NaN or infinity",
    FaultKind.too_large: "a number too large",
    FaultKind.not_whole: "a frame that is not a whole number",
    FaultKind.long_line: "a line of more than a megabyte",
}


def _sentence(fault: Fault, lines_before: int, head: TextHead, width: int, with_fix: bool = True) -> str:
    cell = _decoded(fault.cell)
    where = f"row {lines_before + fault.line}"
    if fault.column:
        name = head.header[fault.column - 1].text if head.header and fault.column <= len(head.header) else ""
        where += f", column {fault.column}" + (f" ({name})" if name else "")
    fix = "fix or drop that row, or use skip_bad_rows="
    if fault.kind is FaultKind.ragged:
        against = "the header" if head.header is not None else "the first row"
        what = f"has {cell} {'cell' if cell == '1' else 'cells'} and {against} {width}"
    elif fault.kind is FaultKind.long_line:
        what, fix = "is longer than a megabyte, so this is not a table", "give a text table"
    elif fault.kind is FaultKind.empty:
        what = "is empty"
    elif fault.kind is FaultKind.text and _DECIMAL_COMMA.match(cell):
        what, fix = f"is {cell!r}, with a decimal comma", "write numbers with a decimal point"
    elif fault.kind is FaultKind.text:
        what = f"is {cell!r}, not a number"
    elif fault.kind is FaultKind.not_whole:
        what = f"is {cell!r}, not a whole number"
        fix = "check which column is the frame (columns=), or use skip_bad_rows="
    elif fault.kind is FaultKind.too_large:
        what = f"is {cell!r}, too large"
    else:
        what = f"is {cell!r}, not a finite number"
    return f"{where}, {what}; {fix}" if with_fix else f"{where}, {what}"
