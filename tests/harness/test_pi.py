"""`pi` as a harness: how an agent is started and made ready for the next task, and how it is chosen."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from pi_subagents.extension import COPILOT_EXTENSION
from pi_subagents.harness import HARNESSES, Invocation, Launch, Program, harness_named
from pi_subagents.harness.contract import one_deeper
from pi_subagents.harness.pi.pi import PiJson
from pi_subagents.harness.pi.rpc import PiRenewal, PiRpc
from pi_subagents.models import Profile, Secret
from pi_subagents.place import Place

RUN_DIR = Path("/project/.pi/subagents/runs/r")

MCP_TOOLS = ("mcp__*", "list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource")

Pi = type[PiJson] | type[PiRpc]


def invocation(
    profile: Profile | None = None,
    harness: Pi = PiJson,
    environ: Mapping[str, str] | None = None,
    max_depth: int = 1,
    variables: Mapping[str, str] | None = None,
    version: tuple[int, int, int] = (1, 5, 0),
    agent_dir: Path = Path("/agent"),
) -> Invocation:
    """How an agent of pi 1.5, or another version, is started where a person has these variables."""
    launch = Launch(
        program=Program(("pi",), "test"),
        prompt="Go.",
        cwd=Path("/project"),
        run_dir=RUN_DIR,
        place=Place(Path("/project"), agent_dir, variables or {}),
        environ=one_deeper(environ or {}, max_depth),
        profile=profile,
        version=lambda: version,
    )
    return harness().invocation(launch)


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
        (Profile(name="p", model="github-copilot/gpt-5"), (True, True)),
        (Profile(name="p", provider="github-copilot", model="gpt-5", no_extensions=True), (True, True)),
        (Profile(name="p", model="openai/gpt-5"), (False, False)),
        (Profile(name="p", model="openrouter/github-copilot/x"), (False, False)),
        (Profile(name="p"), (False, True)),
        (None, (False, True)),
    ],
)
def test_a_child_that_may_speak_to_copilot_gets_what_marks_its_requests(
    profile: Profile | None, marked: tuple[bool, bool]
) -> None:
    places: tuple[dict[str, str], ...] = ({}, {"COPILOT_GITHUB_TOKEN": "x"})
    found = [str(COPILOT_EXTENSION) in invocation(profile, variables=variables).argv for variables in places]
    assert tuple(found) == marked


def test_a_child_is_told_how_deep_it_may_go() -> None:
    environ = invocation(environ={"PI_SUBAGENTS_MAX_DEPTH": "9"}, max_depth=3).environ
    assert environ["PI_SUBAGENTS_MAX_DEPTH"] == "3"


@pytest.mark.parametrize("last", ["--", "--name"])
def test_no_argument_of_a_profile_swallows_what_restricts_its_tools(last: str) -> None:
    argv = invocation(Profile(name="p", tools=("read",), extra_args=(last,))).argv
    assert argv[-1] == last
    assert {"--tools", "--exclude-tools", "--no-mcp"} <= set(argv)


def test_no_tools_means_no_servers_whatever_tools_are_named_besides() -> None:
    argv = invocation(Profile(name="p", tools=("mcp__notes__write",), no_tools=True)).argv
    assert {"--no-tools", "--exclude-tools", "--no-mcp"} <= set(argv)


@pytest.mark.parametrize(
    ("tools", "version", "restriction"),
    [
        (("read",), (1, 5, 0), ("--exclude-tools", ",".join(MCP_TOOLS), "--no-mcp")),
        (("read",), (0, 74, 0), ("--exclude-tools", ",".join(MCP_TOOLS))),
        (("read", "mcp__notes__write"), (1, 5, 0), ()),
        (("read_mcp_resource",), (1, 5, 0), ("--exclude-tools", ",".join(MCP_TOOLS[:3]))),
    ],
)
def test_an_allow_list_keeps_out_tools_of_servers_that_it_does_not_name(
    tools: tuple[str, ...], version: tuple[int, int, int], restriction: tuple[str, ...]
) -> None:
    argv = invocation(Profile(name="p", tools=tools), version=version).argv
    assert argv[argv.index("--no-prompt-templates") + 1 :] == (*restriction, "--tools", ",".join(tools))


def test_a_run_with_a_key_of_its_own_sees_everything_but_the_stored_keys(tmp_path: Path) -> None:
    for name in ("auth.json", "auth.json.lock", "models.json"):
        (tmp_path / name).touch()
    files = invocation(Profile(name="p", api_key=Secret("key")), agent_dir=tmp_path).files
    assert [file.name for file in files if file.link_to] == ["agent-dir/models.json"]


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


# --- whether a process has a fresh conversation is told by itself, and it may say anything --------------------

RENEWAL = PiRenewal("", Path("/run"), (), {})


@pytest.mark.parametrize(
    "data",
    [
        b"null",
        b"[]",
        b'{"model": "gpt"}',
        b'{"model": {"id": 5}}',
        b'{"messageCount": 1e308}',
        b'{"sessionFile": "\xff"}',
        b'{"other": ' + b"[" * 5000 + b"]" * 5000 + b"}",
    ],
)
def test_a_state_that_makes_no_sense_is_none_to_go_on_from(data: bytes) -> None:
    frame = b'{"type":"response","id":"renewal","command":"get_state","success":true,"data":' + data + b"}"
    assert RENEWAL.identity(frame) is None
    assert RENEWAL.heard(frame, Path("/run/child-session.jsonl")) in (False, b"")


# --- the table of harnesses ----------------------------------------------------------------------------------

LOADED = "import sys, pi_subagents.harness; print([name for name in sys.modules if 'harness.pi' in name])"


@pytest.mark.parametrize("name", HARNESSES)
def test_every_harness_has_the_name_by_which_it_is_chosen(name: str) -> None:
    assert harness_named(name).name == name


def test_the_table_loads_none_of_them() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
