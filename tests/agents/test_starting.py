"""How many processes are started side by side, as a table."""

from __future__ import annotations

import pytest

from pi_subagents.agents.starting import PATIENCE_S, THINKING_AFTER_S, Outlook

SPEAKING, THINKING = 0.0, THINKING_AFTER_S


@pytest.mark.parametrize(
    ("why", "cores", "starting", "silences_s", "waited_s", "may_start"),
    [
        ("the first task of all", 2, 0, (), 0.0, True),
        ("a core is left", 2, 1, (), 0.0, True),
        ("every core is busy with a start", 2, 2, (), 0.0, False),
        ("however long it waits, a third start makes the other two slower", 2, 2, (), 60.0, False),
        ("both cores compute for agents that are soon free", 2, 0, (SPEAKING, SPEAKING), 0.0, False),
        ("one agent thinks, so its core is idle", 2, 0, (SPEAKING, THINKING), 0.0, True),
        ("that core is taken by a start already", 2, 1, (SPEAKING, THINKING), 0.0, False),
        ("all think: as many starts as cores", 2, 1, (THINKING, THINKING), 0.0, True),
        ("one agent computes on one of two cores", 2, 0, (SPEAKING,), 0.0, True),
        ("the only core computes", 1, 0, (SPEAKING,), 0.0, False),
        ("talking without end is not computing", 2, 0, (SPEAKING, SPEAKING), PATIENCE_S, True),
    ],
)
def test_a_process_is_started_where_a_core_has_nothing_better_to_do(
    why: str, cores: int, starting: int, silences_s: tuple[float, ...], waited_s: float, may_start: bool
) -> None:
    assert Outlook(cores, starting, silences_s, waited_s).may_start is may_start, why


def test_no_process_is_started_while_the_end_of_a_run_is_recorded_unless_that_takes_long() -> None:
    assert not Outlook(2, 0, (THINKING,), 0.0, settled=1).may_start
    assert not Outlook(2, 0, (), 0.0, settled=1).may_start
    assert Outlook(2, 0, (), PATIENCE_S, settled=1).may_start
    assert Outlook(2, 0, (), PATIENCE_S - 0.01, settled=1).look_again_s == pytest.approx(0.01)


def test_the_next_look_comes_when_an_agent_begins_to_count_as_thinking() -> None:
    outlook = Outlook(1, 0, (0.05, 0.01), 0.0)
    assert outlook.look_again_s == pytest.approx(THINKING_AFTER_S - 0.05)


def test_the_next_look_comes_when_patience_ends() -> None:
    assert Outlook(1, 0, (0.0,), PATIENCE_S - 0.01).look_again_s == pytest.approx(0.01)


def test_nobody_looks_again_and_again_while_every_core_starts_a_process() -> None:
    assert Outlook(1, 1, (THINKING,), 60.0).look_again_s >= 0.1
