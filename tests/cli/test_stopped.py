"""Commands that are stopped while a library is at work, which turns the stop into an error of its own."""

from __future__ import annotations

import signal
import sys

import pytest

from flatmetric.cli import app


@pytest.mark.parametrize(("stop", "code"), [(SystemExit(143), 143), (KeyboardInterrupt(), 130)])
def test_a_stop_that_became_an_error_is_still_a_stop(
    stop: BaseException, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken_off(*_: object) -> None:
        try:
            raise stop
        finally:
            raise AssertionError("a stream that was not ended")

    before, output = signal.getsignal(signal.SIGTERM), sys.stdout
    monkeypatch.setattr(app.app, "invoke", broken_off)
    monkeypatch.setattr(sys, "argv", ["flatmetric", "demo"])
    try:
        with pytest.raises(SystemExit) as ended:
            app.main()
    finally:
        signal.signal(signal.SIGTERM, before)
        sys.stdout = output
    assert ended.value.code == code and capsys.readouterr().err == "flatmetric: stopped\n"


def test_an_error_of_our_own_is_none() -> None:
    assert app._stopped_before(ValueError("ours")) is None
