"""The bridge says what the transcripts say, which the tests of the extension take at their word."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bridge.golden import FOLDER, read, replay, settled
from tests.bridge.kit import Desk

TRANSCRIPTS = sorted(FOLDER.glob("*.jsonl"))


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_the_bridge_keeps_to(path: Path, desk: Desk) -> None:
    transcript = read(path)
    expected = settled([message for direction, message in transcript if direction == "<"])
    assert settled(replay(transcript, desk)) == expected
