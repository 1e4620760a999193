"""What every child is told through its environment, and where its instructions are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from pi_subagents.harness import Invocation, Launch, PiJson, PiRpc
from pi_subagents.models import Profile

RUN_DIR = Path("/project/.pi/subagents/runs/r")


Pi = type[PiJson] | type[PiRpc]


def invocation(
    profile: Profile | None = None, harness: Pi = PiJson, environ: Mapping[str, str] | None = None
) -> Invocation:
    return harness().invocation(
        Launch(
            program=("pi",),
            prompt="Go.",
            cwd=Path("/project"),
            run_dir=RUN_DIR,
            agent_dir=Path("/agent"),
            environ=environ or {},
            profile=profile,
        )
    )


@pytest.mark.parametrize("harness", [PiJson, PiRpc])
def test_a_child_knows_that_it_is_one_and_how_deep(harness: Pi) -> None:
    first = invocation(harness=harness).environ
    second = invocation(harness=harness, environ=first).environ
    assert (first["PI_SUBAGENTS_CHILD"], first["PI_SUBAGENTS_DEPTH"]) == ("1", "1")
    assert second["PI_SUBAGENTS_DEPTH"] == "2"


@pytest.mark.parametrize("value", ["", "x", "-1", "1.5"])
def test_a_depth_that_is_no_number_counts_as_none(value: str) -> None:
    assert invocation(environ={"PI_SUBAGENTS_DEPTH": value}).environ["PI_SUBAGENTS_DEPTH"] == "1"


@pytest.mark.parametrize(
    ("profile", "marked"),
    [
        (Profile(name="p", model="github-copilot/gpt-5"), True),
        (Profile(name="p", provider="github-copilot", model="gpt-5"), True),
        (Profile(name="p", model="openai/gpt-5"), False),
        (Profile(name="p", model="openrouter/github-copilot/x"), False),
        (Profile(name="p"), False),
        (None, False),
    ],
)
def test_only_a_child_with_a_copilot_model_is_told_to_mark_its_requests(profile: Profile | None, marked: bool) -> None:
    # The parent may have been told so, which says nothing about the child.
    environ = invocation(profile, environ={"PI_SUBAGENTS_COPILOT_INITIATOR": "agent"}).environ
    assert environ.get("PI_SUBAGENTS_COPILOT_INITIATOR") == ("agent" if marked else None)


def test_added_instructions_are_in_the_well_known_file_unless_there_are_others() -> None:
    added = invocation(Profile(name="p", append_system_prompt="More."))
    both = invocation(Profile(name="p", system_prompt="All.", append_system_prompt="More."))
    assert {file.name: file.content for file in added.files}["system-prompt.md"] == b"More."
    assert added.argv[-2:] == ("--append-system-prompt", f"{RUN_DIR}/system-prompt.md")
    files = {file.name: file.content for file in both.files}
    assert (files["system-prompt.md"], files["append-system-prompt.md"]) == (b"All.", b"More.")
    assert both.argv[-4:] == (
        *("--system-prompt", f"{RUN_DIR}/system-prompt.md"),
        *("--append-system-prompt", f"{RUN_DIR}/append-system-prompt.md"),
    )
