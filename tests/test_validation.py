"""Bad input gets one sentence that names the argument, the place, the value and the mend."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import flatmetric as fm
from flatmetric import _core

T = [[0.0, 0.0], [10.0, 0.0]]
P = [[1.0, 0.0]]
NAN = math.nan

BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"truth": [[0, 0], [1, NAN]]}, ValueError, r"truth\[1, 1\] is nan; coordinates must be finite"),
    ({"pred": [[math.inf, 0]]}, ValueError, r"pred\[0, 0\] is inf; coordinates must be finite"),
    ({"pred": [[0, -1e101]]}, ValueError, r"pred\[0, 1\] is -1e\+101; .* within 1e\+100 nm"),
    ({"truth": [0.0, 1.0]}, ValueError, r"truth has shape \(2,\).*truth\.reshape\(-1, 1\)"),
    ({"truth": np.zeros((2, 2, 2))}, ValueError, r"truth has shape \(2, 2, 2\)"),
    ({"truth": 3.0}, ValueError, r"truth has shape \(\)"),
    ({"truth": np.zeros((2, 0)), "pred": np.zeros((1, 0))}, ValueError, r"truth has shape \(2, 0\)"),
    ({"truth": [[0, 0], [1]]}, ValueError, "truth has rows of different lengths"),
    ({"truth": [["a", "b"]]}, TypeError, "truth holds <U1, not real numbers"),
    ({"truth": [[1j, 0]]}, TypeError, "truth holds complex128"),
    ({"truth": [[None, 0]]}, TypeError, "truth holds object"),
    ({"truth": np.ma.masked_less([[0.0, 5.0]], 1)}, ValueError, "truth has masked entries"),
    ({"pred": [[1.0, 0.0, 0.0]]}, ValueError, "truth has 2 coordinates for each point and pred has 3"),
    ({"truth": []}, ValueError, "truth is empty.*give truth_weights and pred_weights"),
    ({"lam": 0}, ValueError, "lam is 0; give a positive length in nm"),
    ({"lam": -1.0}, ValueError, "lam is -1; give a positive length in nm"),
    ({"lam": NAN}, ValueError, "lam is nan; give a positive length in nm"),
    ({"lam": 1e-101}, ValueError, "lam is 1e-101; give a length between"),
    ({"lam": 10**400}, ValueError, r"lam is 1e\+101; give a length between"),
    ({"axis_scale": (1e100, 1), "truth": [[1e99, 0], [0, 0]]}, ValueError, r"axis_scale \* truth\[0, 0\] is 1e\+199"),
    ({"lam": "wide"}, TypeError, "lam is 'wide'; give one positive number in nm"),
    ({"lam": [1, 2]}, TypeError, r"lam is \[1, 2\]; give one positive number"),
    ({"lam": math.inf}, ValueError, "lam is inf, which needs equal masses, but truth has point count 2 and pred 1"),
    (
        {"lam": math.inf, "truth_weights": [1, 1], "pred_weights": [1.5]},
        ValueError,
        "truth has mass 2 and pred 1.5; give a finite lam or equal masses",
    ),
    (
        {"lam": math.inf, "pred": T, "truth_frames": [1, 2], "pred_frames": [2, 2]},
        ValueError,
        "truth has point count 1 and pred 0 in frame 1",
    ),
    ({"truth_weights": [1, 1]}, ValueError, "truth_weights is given but pred_weights is not; give both or neither"),
    ({"pred_weights": [1]}, ValueError, "pred_weights is given but truth_weights is not"),
    ({"truth_weights": [1, -2], "pred_weights": [1]}, ValueError, r"truth_weights\[1\] is -2; weights must be finite"),
    ({"truth_weights": [1, 1], "pred_weights": [NAN]}, ValueError, r"pred_weights\[0\] is nan"),
    ({"truth_weights": [1], "pred_weights": [1]}, ValueError, r"truth_weights has shape \(1,\) but there are 2 points"),
    ({"truth_weights": [[1], [1]], "pred_weights": [1]}, ValueError, r"truth_weights has shape \(2, 1\)"),
    ({"truth_frames": [1, 2]}, ValueError, "truth_frames is given but pred_frames is not"),
    ({"truth_frames": [1], "pred_frames": [1]}, ValueError, r"truth_frames has shape \(1,\) but there are 2 points"),
    ({"truth_frames": [1.5, 2], "pred_frames": [1]}, TypeError, "truth_frames holds float64, not integers"),
    ({"truth_frames": [1, 2], "pred_frames": ["1"]}, TypeError, "pred_frames holds <U1, not integers"),
    (
        {"truth_frames": np.array([1, 2**63], dtype=np.uint64), "pred_frames": [1]},
        ValueError,
        r"truth_frames\[1\] is 9223372036854775808; frame numbers must fit",
    ),
    ({"axis_scale": (1, 1, 1)}, ValueError, r"axis_scale has shape \(3,\); give one factor for each of the 2"),
    ({"axis_scale": (1, 0)}, ValueError, r"axis_scale\[1\] is 0; give a positive factor"),
    ({"axis_scale": (NAN, 1)}, ValueError, r"axis_scale\[0\] is nan"),
    ({"threads": 0}, ValueError, "threads is 0; give at least 1"),
    ({"threads": 1.5}, TypeError, "threads is 1.5; give a whole number"),
    ({"method": "fast"}, ValueError, 'method is \'fast\'; give "exact" or "lp"'),
]


@pytest.mark.parametrize(("arguments", "error", "sentence"), BAD)
def test_bad_input_is_one_sentence(arguments: dict[str, Any], error: type[Exception], sentence: str) -> None:
    call: dict[str, Any] = {"truth": T, "pred": P, "lam": 125.0} | arguments
    truth, pred = call.pop("truth"), call.pop("pred")
    with pytest.raises(error, match=sentence) as caught:
        fm.flat_metric(truth, pred, **call)
    assert "\n" not in str(caught.value)


def test_more_points_than_the_index_holds() -> None:
    too_many = np.broadcast_to(np.zeros((1, 1), dtype=np.int8), (_core.MAX_POINTS + 1, 1))
    with pytest.raises(ValueError, match="truth has 1073741823 points; at most 1073741822 fit one call"):
        fm.flat_metric(too_many, [[0]], lam=1)


def test_an_unmasked_masked_array_is_an_array() -> None:
    assert fm.flat_metric(np.ma.array(T), P, lam=125).value == fm.flat_metric(T, P, lam=125).value


def test_frames_of_nothing_may_be_an_empty_list() -> None:
    result = fm.flat_metric(T, [], lam=125, truth_frames=[1, 2], pred_frames=[])
    assert result.value == 125
