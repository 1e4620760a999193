"""`models`: a search that finds nothing says what to do next."""

from __future__ import annotations

import pytest

from tests.surfaces.cli.machine import PI, TWO_MODELS, Machine

_MODELS = TWO_MODELS.replace("m-large", "claude-sonnet-4-5").replace("m-small", "glm-4.6")


@pytest.mark.parametrize(
    ("search", "hint"),
    [
        ("sonet", 'Did you mean "sonnet"?'),
        ("cluade-sonnet-4-5", 'Did you mean "anthropic/claude-sonnet-4-5"?'),
        ("xyzzy", "To list all of them: pi-subagents models"),
    ],
)
def test_a_search_without_a_result_says_what_to_try(machine: Machine, search: str, hint: str) -> None:
    machine.add_node(models=_MODELS)
    machine.add_program("pi", PI)
    done = machine.run("models", search)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f'error: No model matches "{search}". {hint}\n'
