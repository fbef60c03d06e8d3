import enum
from typing import Any

import numpy as np
import numpy.typing as npt

MAX_POINTS: int

class Method(enum.Enum):
    automatic = ...
    shortest_paths = ...
    simplex = ...

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
) -> dict[str, Any]: ...
