"""A yard for every test, and nobody left in it afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.background.kit import KEEPER_MARK, Yard, make_yard


@pytest.fixture
def yard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Yard]:
    """A project from which background runs are launched; parametrised indirectly, so many may work at once."""
    yard = make_yard(tmp_path, getattr(request, "param", 8))
    monkeypatch.setenv(KEEPER_MARK, yard.keeper_mark)
    # Keepers that are killed leave their sockets behind; the path of a socket must be short.
    with TemporaryDirectory(prefix="yard-", dir="/tmp") as sockets:
        monkeypatch.setenv("XDG_RUNTIME_DIR", sockets)
        yard.stage.environ["XDG_RUNTIME_DIR"] = sockets
        yield yard
        yard.kill_everybody()
