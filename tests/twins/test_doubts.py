"""Movies that are unfit for a twin are one sentence, or a warning with what it does to the answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tifffile

from flatmetric.errors import InputError
from flatmetric.localizers.registry import StackCamera
from flatmetric.stacks import open_stack
from flatmetric.twins.doubts import doubts_about
from proofs.foreign import movie, scope

SCOPE = scope(10)  # sCMOS, molecules that stay on
CAMERA = StackCamera(SCOPE.pixel, SCOPE.offset, 1 / SCOPE.counts_per_electron)
Change = Callable[[np.ndarray], np.ndarray]


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> np.ndarray:
    path, _ = movie(SCOPE, tmp_path_factory.mktemp("movie"))
    return np.asarray(tifffile.imread(path))


def doubts(path: Path, counts: np.ndarray) -> list[str]:
    tifffile.imwrite(path, counts, photometric="minisblack")
    return doubts_about(open_stack(path), CAMERA)


@pytest.mark.parametrize("number", [1, 6, 12])
def test_a_movie_as_a_camera_writes_it_has_none(number: int, tmp_path: Path) -> None:
    made = scope(number)
    path, _ = movie(made, tmp_path)
    assert doubts_about(open_stack(path), StackCamera(made.pixel, made.offset, 1 / made.counts_per_electron)) == []


def smoothed(counts: np.ndarray) -> np.ndarray:
    return np.asarray((counts[:, 1:] + counts[:, :-1]) / 2, dtype=np.float32)


WRONG: dict[str, tuple[Change, str]] = {
    "saturated": (lambda a: np.minimum(a, np.quantile(a, 0.999)).astype(np.uint16), "have pixels that are full at"),
    "8 bit": (lambda a: (a // (a.max() // 255 + 1)).astype(np.uint8), "its noise does not grow with its light"),
    "coarse": (lambda a: (a // 64 * 64).astype(np.uint16), "apart, which is more than the noise"),
    "smoothed": (smoothed, "its noise does not grow with its light"),
    "shuffled": (lambda a: a[np.random.default_rng(0).permutation(len(a))], "may be in the wrong order"),
    "two channels": (lambda a: np.concatenate([a, a], axis=2), "its halves side by side show the same molecules"),
}


@pytest.mark.parametrize("fault", WRONG)
def test_a_fault_is_a_warning(fault: str, counts: np.ndarray, tmp_path: Path) -> None:
    change, words = WRONG[fault]
    assert any(words in sentence for sentence in doubts(tmp_path / "a.tif", change(counts)))


@pytest.mark.parametrize("kind", ["uint16", "float32"])
def test_a_movie_without_its_background_is_refused(kind: str, counts: np.ndarray, tmp_path: Path) -> None:
    left = counts - np.median(counts, axis=0)
    with pytest.raises(InputError, match="its background was taken away, and with it the light"):
        doubts(tmp_path / "a.tif", (np.maximum(left, 0) if kind == "uint16" else left).astype(kind))
