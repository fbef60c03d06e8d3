import enum
from typing import Any

import numpy as np
import numpy.typing as npt

from flatmetric.errors import InputError

MAX_POINTS: int
LARGEST: float

def table_of(columns: list[npt.NDArray[np.float64]], threads: int) -> npt.NDArray[np.float64]: ...
def spot_boxes(
    coefficients: npt.NDArray[np.float64], per_pixel: int, places: npt.NDArray[np.float64], side: int, slopes: bool
) -> npt.NDArray[np.float64]: ...
def row_differences(
    from_table: npt.NDArray[np.float64],
    to_table: npt.NDArray[np.float64],
    from_rows: npt.NDArray[np.int64],
    to_rows: npt.NDArray[np.int64],
    threads: int,
) -> npt.NDArray[np.float64]: ...
def all_within(numbers: npt.NDArray[np.float64], limit: float) -> bool: ...

class Method(enum.Enum):
    automatic = ...
    shortest_paths = ...
    simplex = ...
    paths_in_tiles = ...
    simplex_in_tiles = ...

class CellKind(enum.Enum):
    number = ...
    whole = ...
    optional = ...

class FaultKind(enum.Enum):
    none = ...
    ragged = ...
    empty = ...
    text = ...
    not_finite = ...
    too_large = ...
    not_whole = ...
    long_line = ...

class Fault:
    @property
    def kind(self) -> FaultKind: ...
    @property
    def line(self) -> int: ...
    @property
    def column(self) -> int: ...
    @property
    def cell(self) -> bytes: ...

class NumberTable:
    def __init__(
        self,
        *,
        delimiter: str,
        columns: list[tuple[int, CellKind]],
        cells_per_row: int,
        ends_at_blank_line: bool,
        skip_bad_rows: bool,
        expected_rows: int,
    ) -> None: ...
    def feed(self, text: bytes, begin: int = 0, end: int | None = None) -> bool: ...
    def finish(self) -> bool: ...
    def take(self) -> list[npt.NDArray[Any]]: ...
    @property
    def ended_early(self) -> bool: ...
    @property
    def lines(self) -> int: ...
    @property
    def fault(self) -> Fault: ...
    @property
    def first_skipped(self) -> Fault: ...
    @property
    def skipped(self) -> dict[FaultKind, int]: ...

class UnequalMassesError(ValueError):
    """An infinite lam, and a frame whose masses differ; `args` are the frame, its true and its predicted mass."""

class BeyondLimitError(InputError):
    """A number is not finite, or larger than LARGEST."""

class FrameSolutions:
    frame: npt.NDArray[np.int64]
    n_truth: npt.NDArray[np.int64]
    n_pred: npt.NDArray[np.int64]
    displaced: npt.NDArray[np.float64]
    missed: npt.NDArray[np.float64]
    false: npt.NDArray[np.float64]
    lower_bound: npt.NDArray[np.float64]

class Solution:
    displaced: float
    missed: float
    false: float
    lower_bound: float
    by_simplex: int
    pair_truth: npt.NDArray[np.int64]
    pair_pred: npt.NDArray[np.int64]
    pair_mass: npt.NDArray[np.float64] | None
    pair_distance: npt.NDArray[np.float64]
    truth_potential: npt.NDArray[np.float64]
    pred_potential: npt.NDArray[np.float64]
    frames: FrameSolutions | None

class Matches:
    truth: npt.NDArray[np.int64]
    pred: npt.NDArray[np.int64]
    distance: npt.NDArray[np.float64]

class Curve:
    slope_at_end: float
    breakpoint: npt.NDArray[np.float64]
    fall: npt.NDArray[np.float64]

class Neighbours:
    distance: npt.NDArray[np.float64]
    row: npt.NDArray[np.int64]

class NearestSums:
    frame: npt.NDArray[np.int64]
    truth_count: npt.NDArray[np.int64]
    pred_count: npt.NDArray[np.int64]
    truth: npt.NDArray[np.float64]
    pred: npt.NDArray[np.float64]

def solve(
    truth: npt.NDArray[np.float64],
    pred: npt.NDArray[np.float64],
    truth_mass: npt.NDArray[np.float64] | None,
    pred_mass: npt.NDArray[np.float64] | None,
    truth_frame: npt.NDArray[np.int64] | None,
    pred_frame: npt.NDArray[np.int64] | None,
    lam: float,
    divisor: float,
    method: Method,
    threads: int,
) -> Solution: ...
def plan_slopes(
    truth: npt.NDArray[np.float64],
    pred: npt.NDArray[np.float64],
    pair_truth: npt.NDArray[np.int64],
    pair_pred: npt.NDArray[np.int64],
    pair_distance: npt.NDArray[np.float64],
    pair_mass: npt.NDArray[np.float64] | None,
    of_truth: bool,
    threads: int,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...
def match(
    truth: npt.NDArray[np.float64],
    pred: npt.NDArray[np.float64],
    truth_frame: npt.NDArray[np.int64] | None,
    pred_frame: npt.NDArray[np.int64] | None,
    lateral: float,
    axial: float,
    greedy: bool,
    power: float,
    price: float,
    threads: int,
) -> Matches: ...
def neighbours(
    points: npt.NDArray[np.float64],
    others: npt.NDArray[np.float64],
    frame: npt.NDArray[np.int64],
    other_frame: npt.NDArray[np.int64],
    reach: float,
    apart: bool,
    threads: int,
) -> Neighbours: ...
def sums_in_bins(
    values: npt.NDArray[np.float64],
    limits: npt.NDArray[np.float64],
    counted: npt.NDArray[np.bool_],
    columns: list[npt.NDArray[np.float64]],
    threads: int,
) -> npt.NDArray[np.float64]: ...
def nearest(
    truth: npt.NDArray[np.float64],
    pred: npt.NDArray[np.float64],
    truth_frame: npt.NDArray[np.int64] | None,
    pred_frame: npt.NDArray[np.int64] | None,
    threads: int,
) -> NearestSums: ...
def follow_lam(
    truth: npt.NDArray[np.float64],
    pred: npt.NDArray[np.float64],
    truth_mass: npt.NDArray[np.float64] | None,
    pred_mass: npt.NDArray[np.float64] | None,
    truth_frame: npt.NDArray[np.int64] | None,
    pred_frame: npt.NDArray[np.int64] | None,
    lam_max: float,
    threads: int,
) -> Curve: ...
