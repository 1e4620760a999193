"""Odd surroundings do no harm; `tests/surfaces/cli/test_troubles.py` has every command say a sentence about them."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.kit.waiting import PATIENCE_S, until
from tests.security.kit import ALL_PACKAGES, COMMAND, LIMIT_S, Done, Victim, faults, limit_memory
from tests.security.projects import PROJECTS
from tests.security.things import GIT, NEIGHBOUR_SESSION


def program(victim: Victim, *argv: str, **options: Any) -> Done:
    """The command as a program of its own, started in any odd way."""
    with victim.begin(*argv, **{"preexec_fn": limit_memory, **options}) as process:
        out, err = process.communicate(timeout=LIMIT_S)
    return Done(argv, process.returncode, out or b"", err or b"")


@pytest.fixture
def guest(victim: Victim) -> Victim:
    """Somebody with a project of their own and one run in it."""
    victim.receives(GIT)
    victim.has_run_before()
    victim.arm()
    return victim


@pytest.mark.parametrize(
    "argv", [("sessions", "list"), ("run", "Say hello"), ("doctor",), ("profile", "list")], ids=" ".join
)
def test_a_directory_whose_name_would_command_the_terminal_if_it_were_text(
    argv: tuple[str, ...], guest: Victim
) -> None:
    odd = guest.root / os.fsdecode(b"n\xf6\x9b\xff")
    guest.clone.rename(odd)
    done = guest.run(*argv, cwd=odd)
    assert faults(done) == [], str(done)


@pytest.mark.parametrize("argv", [("sessions", "list"), ("run", "Say hello"), ("mcp",), ("bridge",)], ids=" ".join)
def test_what_is_opened_in_the_place_of_closed_streams_is_not_written_into(
    argv: tuple[str, ...], guest: Victim
) -> None:
    script = f'exec {sys.executable} -P -m pi_subagents "$@" <&- >&- 2>&-'
    guest.is_unharmed_by(program(guest, *argv, command=("/bin/sh", "-c", script, "sh")))


@pytest.mark.parametrize(
    "argv",
    [
        ("call", "get_subagent_output", b'{"sessionId": "\xff"}'),
        ("call", "get_subagent_output", '{"sessionId": "\\ud800"}'),
        ("call", "delegate_to_subagents", '{"tasks": [{"name": "\\udfff", "prompt": "\\ud800", "cwd": "/\\ud800"}]}'),
        ("call", "subagent", '{"preset": "\\ud800", "task": "\\ud800"}'),
        ("sessions", "resume", NEIGHBOUR_SESSION, b"\xff"),
        ("steer", NEIGHBOUR_SESSION, b"\xff"),
    ],
    ids=repr,
)
def test_words_for_a_model_or_an_agent_that_are_no_text(argv: tuple[Any, ...], guest: Victim) -> None:
    guest.survives([os.fsdecode(word) for word in argv])


def test_a_list_of_projects_that_is_no_text(guest: Victim) -> None:
    assert guest.run("run", "Say hello").exit_code == 0
    with (guest.agent_dir / "subagents" / "projects.jsonl").open("ab") as file:
        file.write(b'\xff\xfe\n"\\ud800"\nnull\n7\n["/"]\n' + b'"' + b"x" * 100_000 + b'"\n"/\\u0000"\n')
    looks = (("sessions", "list", "--all"), ("sessions", "reindex"), ("run", "Say hello"), ("sessions", "list"))
    assert [done.exit_code for done in guest.survives(*looks)] == [0] * 4
    assert "neighbour" in guest.run("sessions", "list", "--all").out


@pytest.mark.parametrize(
    "content", [b"", b"SQLite format 3\0" + b"\xff" * 4096, b"x" * 10_000], ids=["empty", "torn", "text"]
)
def test_an_index_that_is_none_denies_no_background_run(content: bytes, guest: Victim) -> None:
    assert guest.run("background", "start", "steady", "Say hello").exit_code == 0
    index = guest.agent_dir / "subagents" / "index.sqlite3"
    _remove(index)
    index.write_bytes(content)
    (done,) = guest.survives(("background", "list", "--json"))
    assert "steady" in done.out, str(done)


@pytest.mark.parametrize("how", ["locked", "a directory", "a link to nowhere good"])
def test_an_index_that_cannot_be_used_denies_no_background_run(how: str, guest: Victim) -> None:
    script = '[["write", "{\\"type\\": \\"agent_start\\"}\\n", 1], ["wait_for", "%s"]]' % (guest.scratch / "go")
    started = guest.run("background", "start", "steady", script)
    assert started.exit_code == 0, str(started)
    index = guest.agent_dir / "subagents" / "index.sqlite3"
    with _unusable(index, how):
        done = guest.run("background", "wait", "--timeout", "1")
        assert done.exit_code != 0, f"it is still running\n{done}"
        (listed,) = guest.survives(("background", "list", "--json"))
        assert "running" in listed.out or "queued" in listed.out, str(listed)
    (guest.scratch / "go").touch()


@contextmanager
def _unusable(index: Path, how: str) -> Iterator[None]:
    if how == "locked":
        with closing(sqlite3.connect(index, timeout=PATIENCE_S, isolation_level=None)) as connection:
            connection.execute("BEGIN EXCLUSIVE")
            yield
        return
    until(lambda: _is_replaced(index, how), f"the index is {how}")
    yield


def _remove(index: Path) -> None:
    for path in index.parent.glob("index.sqlite3*"):
        path.unlink(missing_ok=True)  # the keeper is at work, and may have removed one of them itself


def _is_replaced(index: Path, how: str) -> bool:
    _remove(index)
    try:
        index.mkdir() if how == "a directory" else index.symlink_to("/proc/1/mem")
    except FileExistsError:  # the keeper has just made a new one
        return False
    return True


# --- programs of ours that are started where a stranger has put modules ------


def _commanding(victim: Victim) -> None:
    victim.receives(next(project for project in PROJECTS if project.name == "commanding").table)
    (victim.clone / ".pi" / "settings.json").unlink()
    victim.arm()


def _bare_python(victim: Victim) -> tuple[tuple[str, ...], dict[str, str]]:
    """An interpreter without our command beside it, which finds our modules by a variable."""
    environ = {**victim.environ, **ALL_PACKAGES, "PATH": str(victim.scratch / "bin")}
    return (os.path.realpath(sys.executable), *COMMAND[1:]), environ


def test_what_a_client_is_told_to_start_loads_no_module_from_where_it_is_started(victim: Victim) -> None:
    _commanding(victim)
    command, environ = _bare_python(victim)
    done = program(victim, "install", "mcp", "--json", command=command, env=environ, cwd=victim.home)
    server = next(iter(done.json()["snippet"]["mcpServers"].values()))
    started = program(victim, command=(server["command"], *server["args"]), env={**environ, **server.get("env", {})})
    victim.is_unharmed_by(started)


def test_fetching_programs_loads_no_module_from_the_project(victim: Victim) -> None:
    _commanding(victim)
    command, environ = _bare_python(victim)
    tools = victim.scratch / "bin"
    tools.mkdir()
    npm = """#!/bin/sh
for word; do [ "$before" = --prefix ] && prefix=$word; before=$word; done
package="$prefix/node_modules/@earendil-works/pi-coding-agent"
/bin/mkdir -p "$package" && echo "// pi" > "$package/cli.js"
echo '{"version": "0.87.1", "bin": {"pi": "cli.js"}}' > "$package/package.json"
"""
    for name, text in (("npm", npm), ("node", '#!/bin/sh\n[ "$1" = -p ] && echo "22.19.0 $0"\nexit 0\n')):
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    nowhere = {"PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_RETRIES": "0", "PIP_DEFAULT_TIMEOUT": "2"}
    done = program(victim, "install-pi", command=command, env={**environ, **nowhere})
    victim.is_unharmed_by(done)


@pytest.mark.skipif(shutil.which("tmux") is None, reason="not run, because tmux is not installed")
def test_agents_in_panes_load_no_module_from_the_project(victim: Victim) -> None:
    _commanding(victim)
    victim.environ_more["TMUX_TMPDIR"] = str(victim.scratch)
    (done,) = victim.survives(("run", "--tmux", "--json", "Say hello"))
    assert done.json()[0]["status"] == "completed", str(done)
