"""Durations on the command line."""

from __future__ import annotations

import click
import pytest

from pi_subagents.surfaces.cli.app import app
from pi_subagents.surfaces.cli.options import Duration
from tests.surfaces.cli.forked_commands import leaves


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("1.5", 1.5), ("90s", 90), ("5m", 300), ("1h30m", 5400), ("2d", 172_800), (" 1H30M5s ", 5405)],
)
def test_a_duration_is_seconds_or_has_units(text: str, seconds: float) -> None:
    assert Duration().convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["", "m", "5x", "30m1h", "5m5m", "-3", "inf", "nan", "1e3", "5 minutes", "9" * 30])
def test_anything_else_is_refused_with_what_is_possible(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a duration; use 90, 90s, 5m or 1h30m"):
        Duration().convert(text, None, None)


def test_what_is_too_short_is_refused_with_the_least() -> None:
    with pytest.raises(click.BadParameter, match=r"'0\.5s' is too short; use at least 1s"):
        Duration(min_s=1).convert("0.5s", None, None)


def test_every_option_that_takes_a_time_to_wait_takes_units() -> None:
    found = {
        f"{' '.join(path)} {option.opts[0]}": isinstance(option.type, Duration)
        for path, command in leaves(app)
        for option in command.params
        if option.opts[0] in ("--timeout", "--silence") or isinstance(option.type, click.types.FloatParamType)
    }
    assert set(found) >= {"run --timeout", "sessions resume --timeout", "background wait --timeout", "mcp --silence"}
    assert all(found.values()), found
