"""Figures are the same bytes each time, and change nobody's settings."""

from __future__ import annotations

import errno
import io
from pathlib import Path
from typing import Any

import matplotlib
import pytest

from flatmetric.errors import InputError
from flatmetric.plots.style import house_style, new_figure, save


@pytest.mark.parametrize("suffix", [".png", ".pdf", ".svg"])
def test_the_same_figure_is_the_same_file(tmp_path: Path, suffix: str) -> None:
    for name in ("a", "b"):
        figure = new_figure(2, 2)
        figure.subplots().plot([1, 2])
        save(figure, (tmp_path / name).with_suffix(suffix))
    assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


def test_settings_are_put_back() -> None:
    before = dict(matplotlib.rcParams)
    with house_style():
        assert matplotlib.rcParams["font.size"] == 9
    assert dict(matplotlib.rcParams) == before


def test_a_figure_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        save(new_figure(1, 1), tmp_path / "none" / "a.png")
    with pytest.raises(InputError, match="unsupported figure format"):
        save(new_figure(1, 1), tmp_path / "a.docx")


@pytest.mark.parametrize("suffix", [".png", ".pdf", ".svg"])
def test_a_write_error_within_a_figure_is_one_sentence(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = open

    class Full(io.FileIO):
        def write(self, _: object) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    def full(file: str, mode: str = "r", *rest: Any, **more: Any) -> Any:
        return (
            Full(file, "w")
            if "w" in mode and str(file).startswith(str(tmp_path))
            else opened(file, mode, *rest, **more)
        )

    monkeypatch.setattr("builtins.open", full)
    monkeypatch.setattr("io.open", full)
    with pytest.raises(InputError, match="can't be written, No space left on device"):
        save(new_figure(1, 1), tmp_path / f"a{suffix}")
    assert not list(tmp_path.iterdir())
