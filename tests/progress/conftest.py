"""Every run is one of Ann's."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _home_of_ann(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
