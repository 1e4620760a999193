"""Two terminals that want to tell of the same end at the same moment."""

from __future__ import annotations

import threading

import click
import pytest

from pi_subagents.place import Place
from pi_subagents.surfaces.cli.ends import tell_endings
from pi_subagents.testing import answer, prints
from tests.surfaces.cli.background_desk import BackgroundDesk

_OVERLAP_S = 0.5


@pytest.fixture
def desk(background_desk: BackgroundDesk) -> BackgroundDesk:
    return background_desk


def test_the_second_waits_until_the_first_has_told_and_noted_it(
    desk: BackgroundDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.until_over(desk.launch(prints(*answer("Hello"))))
    place = Place.here(desk.project, {**desk.environ, "PI_AGENT_DIR": str(desk.shelf.agent_dir)})
    told: list[str] = []
    second = threading.Thread(target=tell_endings, args=(place,))

    def echo(message: str, **_: object) -> None:
        told.append(message)
        if len(told) == 1:
            second.start()
            second.join(_OVERLAP_S)  # enough for the second to tell it too, were it not held up

    monkeypatch.setattr(click, "echo", echo)
    tell_endings(place)
    second.join()
    assert len(told) == 1
