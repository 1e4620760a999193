"""Whatever a shell, a disk or a name does to the command: it ends, with a sentence and an exit code."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import click
import pytest

from pi_subagents.surfaces.cli.app import app
from tests.kit.sessions import says
from tests.kit.waiting import PATIENCE_S
from tests.kit.workplace import Workplace
from tests.surfaces.cli.forked_commands import NOT_RUN, UNCAUGHT, UNFLUSHED, Ended, Trouble, leaves, run_all

SESSION = "a3f7b9c2d1e8f4a1"
COMMANDS = dict(leaves(app))
USUAL: dict[tuple[str, ...], list[str]] = {
    ("run",): ["--plain", "Do it"],
    ("background", "start"): ["good", "Do it"],
    ("call",): ["list_subagent_profiles"],
    ("profile", "create"): ["new", "--model", "m"],
    ("profile", "show"): ["good"],
    ("profile", "delete"): ["good", "--yes"],
    ("preset", "show"): ["good"],
    ("preset", "new"): ["new"],
    ("completion",): ["bash"],
    ("sessions", "clean"): ["--all", "--keep", "0", "--dry-run"],
    ("sessions", "delete"): [SESSION],
    ("sessions", "resume"): [SESSION, "Go on"],
    ("steer",): [SESSION, "Hurry"],
    ("install", "mcp"): ["--client", "claude", "--scope", "project"],
    ("uninstall", "mcp"): ["--client", "claude", "--scope", "project"],
    ("install", "pi"): ["--project"],
    ("uninstall", "pi"): ["--project"],
}


class Furnished(Workplace):
    """A workplace with a profile, a preset and a session."""

    def __init__(self, root: Path, name: str = "project") -> None:
        self._name = "project"
        super().__init__(root, {"PI_SUBAGENTS_MODELS": "offline/scripted", "TERM": "dumb"})
        self.project.rename(root / name)
        self._name = name
        for folder in ("agent-profiles", "subagents"):
            text = "---\nname: good\ndescription: Good.\nmodel: offline/scripted\n---\n"
            self.write(f".pi/{folder}/good.md", text)
        self.shelf.add(says("Done."), session_id=SESSION, cwd=root)

    @property
    def project(self) -> Path:
        return self.root / self._name

    def try_all(
        self, calls: Sequence[list[str]], trouble: Trouble = Trouble.NONE, variables: Mapping[str, str] | None = None
    ) -> list[Ended]:
        """Run commands in the project, each as a process of its own."""
        return run_all([(self.project, call) for call in calls], {**self.environ, **(variables or {})}, trouble)

    def shell(self, words: str, *arguments: str | bytes, **variables: str) -> subprocess.CompletedProcess[bytes]:
        """Run the command in a shell that says `words` around it."""
        command = [sys.executable, "-m", "pi_subagents", *arguments]
        return subprocess.run(
            ["sh", "-c", words, "sh", *command],
            cwd=self.project,
            env={**self.environ, **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE_S,
            check=False,
        )


@pytest.fixture
def place(tmp_path: Path) -> Furnished:
    return Furnished(tmp_path)


def usual_calls() -> list[list[str]]:
    """Every command, as somebody would call it."""
    return [[*words, *_arguments(words, command)] for words, command in COMMANDS.items() if words not in NOT_RUN]


def _arguments(words: tuple[str, ...], command: click.Command) -> list[str]:
    return USUAL.get(words) or [SESSION for one in command.params if isinstance(one, click.Argument) and one.required]


def require_decent(ended: Ended, *, can_speak: bool = True) -> None:
    """It ended by itself, and whatever went wrong was said in a sentence."""
    text = ended.data.decode(errors="replace")
    assert ended.code not in (UNCAUGHT, UNFLUSHED), (ended.arguments, text)
    assert ended.code >= 0, (ended.arguments, ended.code, "killed after too long")
    assert "Traceback" not in text, (ended.arguments, text)
    assert "Exception ignored" not in text, (ended.arguments, text)
    if ended.code and can_speak:
        assert text.strip(), (ended.arguments, ended.code)


@pytest.mark.parametrize(
    "trouble",
    [
        Trouble.DELETED_DIRECTORY,
        Trouble.CLOSED_INPUT,
        Trouble.CLOSED_OUTPUT,
        Trouble.CLOSED_ERRORS,
        Trouble.FULL_OUTPUT,
        Trouble.FULL_ERRORS,
    ],
)
def test_no_command_hangs_or_shows_a_traceback(trouble: Trouble, place: Furnished) -> None:
    for ended in place.try_all(usual_calls(), trouble):
        require_decent(ended, can_speak=trouble not in (Trouble.CLOSED_ERRORS, Trouble.FULL_ERRORS))


@pytest.mark.parametrize("descriptors", [6, 12, 16, 20])
def test_without_descriptors_there_is_still_a_sentence(descriptors: int, place: Furnished) -> None:
    for ended in place.try_all(usual_calls(), Trouble.FEW_DESCRIPTORS, {"DESCRIPTORS": str(descriptors)}):
        require_decent(ended)


def test_words_that_are_no_text_are_taken_as_far_as_they_go(place: Furnished) -> None:
    broken = os.fsdecode(b"a\xffb")
    calls: list[list[str]] = []
    for words, command in COMMANDS.items():
        if words in NOT_RUN:
            continue
        arguments = [one for one in command.params if isinstance(one, click.Argument)]
        calls.append([*words, *(broken for _ in arguments)])
        for option in command.params:
            if isinstance(option, click.Option) and not option.is_flag:
                known = USUAL.get(words, _arguments(words, command))
                calls.append([*words, *known, option.opts[-1], broken])
    for ended in place.try_all(calls):
        require_decent(ended)
        assert b"a\xffb" not in ended.data


@pytest.mark.parametrize("flag", [[], ["--json"]])
def test_a_directory_whose_name_is_no_text_is_a_place_like_any_other(tmp_path: Path, flag: list[str]) -> None:
    place = Furnished(tmp_path, os.fsdecode(b"pro\xffject"))
    calls = []
    for words, command in COMMANDS.items():
        has_flag = any("--json" in one.opts for one in command.params)
        if words not in NOT_RUN and (has_flag or not flag):
            calls.append([*words, *_arguments(words, command), *flag])
    ended = place.try_all(calls)
    for one in ended:
        require_decent(one)
    codes = {one.arguments[:2]: one.code for one in ended}
    assert codes["profile", "list"] == codes["sessions", "list"] == 0


def test_a_broken_list_of_projects_and_a_command_for_pi_with_an_open_quote_hide_nothing_else(place: Furnished) -> None:
    with (place.agent_dir / "subagents" / "projects.jsonl").open("ab") as file:
        file.write(b'{"project": "/\xff\xfe"}\n\xff\xff\n"\n[]\n{"project": 1}\n')
    run, reindex, listing = ["run", "--plain", "Do it"], ["sessions", "reindex"], ["sessions", "list", "--all"]
    *others, run_end, reindexed, listed = place.try_all(
        [*usual_calls(), run, reindex, listing], variables={"PI_SUBAGENTS_PI": 'pi "and so on'}
    )
    for ended in others:
        require_decent(ended)
    assert run_end.code == 2
    assert "PI_SUBAGENTS_PI" in run_end.text
    assert "quot" in run_end.text
    assert reindexed.code == 0, reindexed.text
    assert SESSION[:8] in listed.text


@pytest.mark.parametrize("arguments", [["tools"], ["profile", "list"], ["sessions", "list"], ["doctor"], ["--help"]])
@pytest.mark.parametrize("words", ['exec "$@" >/dev/full', 'exec "$@" >&-'])
def test_output_that_cannot_be_written_is_an_error(place: Furnished, words: str, arguments: list[str]) -> None:
    done = place.shell(words, *arguments)
    assert done.returncode == 1, done
    assert done.stderr.count(b"\n") == 1
    assert done.stderr.startswith(b"error: "), done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
@pytest.mark.parametrize("arguments", [["doctor"], ["sessions", "list"], ["sessions", "show", SESSION]])
def test_a_terminal_of_an_old_encoding_gets_what_it_can_show(
    place: Furnished, encoding: str, arguments: list[str]
) -> None:
    done = place.shell('exec "$@"', *arguments, PYTHONIOENCODING=encoding, PYTHONUTF8="0")
    assert done.stdout.startswith((b"? ", b"status", b"# task")), done
    assert done.stderr == b""


def test_a_deleted_directory_is_named_as_what_is_wrong(place: Furnished) -> None:
    done = place.shell('mkdir gone && cd gone && rmdir ../gone && exec "$@"', "sessions", "list")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"error: the current directory no longer exists"), done.stderr


@pytest.mark.parametrize("server", ["mcp", "bridge"])
@pytest.mark.parametrize("closed", ["<&-", ">&-", "<&- >&-", "<&- >&- 2>&-"])
def test_a_server_without_anybody_to_speak_to_ends_at_once(place: Furnished, server: str, closed: str) -> None:
    done = place.shell(f'exec "$@" {closed}', server)
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr


def test_what_is_opened_later_does_not_become_a_standard_stream(place: Furnished) -> None:
    done = place.shell('exec "$@" <&- >&- 2>&-', "sessions", "reindex")
    assert done.returncode == 1  # its report could not be written
    for file in (place.agent_dir / "subagents").iterdir():
        assert b"The index has" not in file.read_bytes()


@pytest.mark.parametrize(
    "variables",
    [
        {"HOME": "."},
        {"PI_AGENT_DIR": "~nosuchuser/x"},
        {"PI_AGENT_DIR": "", "PI_CODING_AGENT_DIR": "~nosuchuser/x"},
        {"PI_SUBAGENTS_DATA_DIR": "~nosuchuser/x"},
        {"XDG_DATA_HOME": "."},
        {"CLAUDE_CONFIG_DIR": "~nosuchuser/x", "PI_SUBAGENTS_DEPTH": "9" * 5000},  # nobody needs both
    ],
    ids=lambda variables: " ".join(variables),
)
def test_a_variable_that_makes_no_sense_ends_no_command_with_a_traceback(
    place: Furnished, variables: dict[str, str]
) -> None:
    calls = [*usual_calls(), ["install", "mcp", "--client", "claude", "--scope", "user"]]
    for ended in place.try_all(calls, variables=variables):
        require_decent(ended)


@pytest.mark.parametrize("arguments", [["doctor"], ["profile", "list"], ["run", "--plain", "Do it"], ["mcp"]])
@pytest.mark.parametrize("named", ["", "~/agent"])
def test_a_home_that_every_project_could_bring_is_refused(place: Furnished, arguments: list[str], named: str) -> None:
    done = place.shell('exec "$@"', *arguments, HOME=".", PI_AGENT_DIR=named)
    assert done.returncode == 1
    assert done.stdout == b""
    assert done.stderr == b'error: HOME is ".", which is not an absolute path; set it to your home directory\n'


def test_a_directory_of_a_user_who_does_not_exist_is_an_error_that_names_the_variable(place: Furnished) -> None:
    for variable, arguments in (("PI_AGENT_DIR", ["profile", "list"]), ("PI_SUBAGENTS_DATA_DIR", ["doctor"])):
        done = place.shell('exec "$@"', *arguments, **{variable: "~nosuchuser/x"})
        assert done.returncode == 1
        assert f'error: {variable} is "~nosuchuser/x", but there is no such user'.encode() in done.stderr


def test_a_depth_that_no_agent_could_have_is_too_deep_and_nothing_else(place: Furnished) -> None:
    done = place.shell('exec "$@"', "run", "--plain", "Do it", PI_SUBAGENTS_DEPTH="9" * 5000)
    assert done.returncode == 1
    assert done.stderr.startswith(b"error: A sub-agent at depth 9"), done.stderr
    assert done.stderr.count(b"\n") == 1
