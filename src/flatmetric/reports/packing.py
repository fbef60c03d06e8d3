"""Arrays as short text for a page: compressed, in base64."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from flatmetric._arrays import FloatArray

_LEVELS = 65_535  # largest 16-bit number
_EFFORT = 5  # of 9: a third of the time, and 2 % larger


def packed(values: npt.NDArray[Any], kind: type[np.unsignedinteger[Any]]) -> str:
    r"""Whole numbers of a kind, little-endian, compressed.

    Examples
    --------
    >>> zlib.decompress(base64.b64decode(packed(np.array([1, 2]), np.uint8)))
    b'\x01\x02'
    """
    data = np.ascontiguousarray(values, dtype=np.dtype(kind).newbyteorder("<")).tobytes()
    return base64.b64encode(zlib.compress(data, _EFFORT)).decode()


def packed_between(values: FloatArray, low: float, high: float) -> str:
    """Numbers from `low` to `high` in 65 536 steps.

    Examples
    --------
    >>> np.frombuffer(zlib.decompress(base64.b64decode(packed_between(np.array([0.0, 5.0]), 0.0, 5.0))), "<u2").tolist()
    [0, 65535]
    """
    steps = np.rint((values - low) / max(high - low, np.finfo(float).tiny) * _LEVELS)
    return packed(np.clip(steps, 0, _LEVELS), np.uint16)
