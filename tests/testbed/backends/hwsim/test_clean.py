"""`testbed clean`, as a user calls it; what it removes is tested where there are radios."""

from __future__ import annotations

import json
import os

import pytest

from testbed.cli.main import main


def test_what_was_removed_is_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("testbed.backends.hwsim.clean.clean", lambda: ["tbkilled-0", "killed"])
    assert main(["clean"]) == 0
    assert capsys.readouterr().out == "removed tbkilled-0\nremoved killed\n"
    assert main(["clean", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"removed": ["tbkilled-0", "killed"]}


def test_for_real(capsys: pytest.CaptureFixture[str]) -> None:
    """As root it cleans, though mostly there is nothing to clean; as another user it says what it needs."""
    code = main(["clean"])
    captured = capsys.readouterr()
    if os.geteuid() == 0:
        assert code == 0
        assert captured.out
    else:
        assert code == 3
        assert captured.err == "testbed: cleaning up after virtual radios needs root\n"
