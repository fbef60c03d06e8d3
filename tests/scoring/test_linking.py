"""Detections linked into molecules: by hand, in a world where the answer is known, and wrong arguments."""

from __future__ import annotations

import numpy as np
import pytest

import flatmetric as fm
from flatmetric.localizations import Localizations
from flatmetric.metrics.linked import link_rows
from flatmetric.options.scoring import Link

# What looks wrong with made-up tables is not what is tested here.
pytestmark = pytest.mark.filterwarnings("ignore::flatmetric.FindingWarning")


def table(frame: list[int], x: list[float]) -> Localizations:
    return Localizations(frame=np.array(frame, np.int64), x=np.array(x), y=np.zeros(len(x)))


def test_rows_are_linked_by_hand() -> None:
    rows = table([1, 1, 2, 2, 5], [0.0, 100.0, 60.0, 101.0, 102.0])
    assert link_rows(rows, Link(45.0, 0), dim=2).tolist() == [0, 1, 2, 1, 3]  # 60 is 40 from 100, which is taken
    assert link_rows(rows, Link(65.0, 2), dim=2).tolist() == [0, 1, 0, 1, 1]
    assert link_rows(rows, Link(65.0, 1), dim=2).tolist() == [0, 1, 0, 1, 2]
    assert link_rows(table([], []), Link(10.0), dim=2).tolist() == []
    shuffled = rows.select(np.array([4, 2, 0, 3, 1]))
    assert len(set(link_rows(shuffled, Link(65.0, 2), dim=2).tolist())) == 2


def test_molecules_that_are_seen_in_every_frame_are_counted_right() -> None:
    rng = np.random.default_rng(0)
    place = rng.uniform(0, 50_000, (40, 2))
    frame, molecule = np.repeat(np.arange(1, 31), 40), np.tile(np.arange(40), 30)
    truth = {"frame": frame, "x": place[molecule, 0], "y": place[molecule, 1], "id": molecule}
    error = rng.normal(0, 10, (len(frame), 2))
    pred = {"frame": frame, "x": truth["x"] + error[:, 0], "y": truth["y"] + error[:, 1]}
    linked = fm.score(truth, pred, link=Link(80.0, 0)).linked
    assert linked is not None and (linked.molecules, linked.linked, linked.counting_error) == (40, 40, 0.0)
    assert linked.rmse_xy == pytest.approx(np.sqrt(2) * 10 / np.sqrt(30), rel=0.3)  # thirty detections are averaged
    assert linked.flat_metric is not None and linked.flat_metric < 3
    apart = fm.score(truth, pred, link=Link(1.0, 0)).linked
    assert apart is not None and apart.counting_error is not None and apart.counting_error > 1000


def test_without_ids_there_is_nothing_to_count() -> None:
    truth = {"frame": [1], "x": [0.0], "y": [0.0]}
    score = fm.score(truth, truth, link=Link(50.0, 1))
    assert score.linked is not None and score.linked.flat_metric is None
    assert score.undefined()["linked.flat_metric"] == "the truth has no ids"
    nobody = fm.score(truth | {"id": [1]}, {"frame": [], "x": [], "y": []}, link=Link(50.0, 1))
    assert nobody.linked is not None and (nobody.linked.linked, nobody.linked.rmse_xy) == (0, None)


@pytest.mark.parametrize(
    ("radius", "gap", "words"), [(0, 1, "radius is 0"), (50, 0.5, "gap is 0.5"), (50, -1, "gap is -1")]
)
def test_wrong_arguments(radius: float, gap: float, words: str) -> None:
    with pytest.raises(fm.InputError, match=words):
        Link(radius, gap)  # type: ignore[arg-type]
