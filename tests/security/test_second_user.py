"""Another user of the machine, who can write where the victim works: they have no power over the victim."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest

from pi_subagents.testing import SCRIPTED_AGENT
from tests.kit.waiting import PATIENCE_S
from tests.kit.workplace import MARK_VARIABLE
from tests.security.kit import ALL_PACKAGES, COMMAND, Done, Victim, faults, limit_memory
from tests.security.projects import POWERFUL_FIELDS, TRIPWIRE, agent_file
from tests.security.things import (
    RUNS,
    STRANGER,
    Folder,
    Link,
    Table,
    Text,
    below,
    differences,
    finished,
    lay_out,
    state_of,
    unfinished,
)

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="not run, because only root can act as two users")

VICTIM = 20_000 + os.getpid() % 30_000
"""Nobody's user id either: the victim shall not be root, who may read and write everything.

Another one in each process that runs tests: a user has one directory for sockets, and these tests spoil it.
"""

_AS_VICTIM = ("setpriv", "--reuid", str(VICTIM), "--regid", str(VICTIM), "--clear-groups", "--")

LOST = "20260105T000000000-bad0000000000001"
SHARED: Table = {
    ".pi/settings.json": json.dumps({"subagents": {"piCommand": "{shared}/evil", "keepSessions": 1}}),
    ".pi/agent-profiles/strong.md": agent_file("strong", POWERFUL_FIELDS["extensions"]),
    ".pi/agent-profiles/safe.md": agent_file("safe", "extraArgs: [--approve]"),
    ".pi/subagents/strong.md": agent_file("strong", "extraArgs: [--extension, {shared}/evil.ts]"),
    ".pi/subagents/steady.md": agent_file("steady", "extensions: [{shared}/evil.ts]"),
    "evil": Text(TRIPWIRE, 0o755),
    "evil.ts": "require('fs').writeFileSync('{tripwire}/node', '')\n",
    **below(f"{RUNS}/{LOST}", unfinished(LOST, name="stranger's", cwd="/")),
    **below(f"{RUNS}/20260104T000000000-{'5' * 16}", finished(f"20260104T000000000-{'5' * 16}", name="stranger's")),
    f"{RUNS}/.sessions/{'5' * 16}": f"20260104T000000000-{'5' * 16}\n../../../victim\n",
}


class Shared:
    """A directory in which everybody may write; the stranger was there first."""

    def __init__(self, root: Path, python: str) -> None:
        self.root = root
        self.python = python
        root.chmod(0o755)
        self.victim = Victim(root / "of the victim")
        self.shared = root / "shared"
        self.shared.mkdir()
        self.shared.chmod(0o1777)
        self.victim.tripwire.chmod(0o777)
        self.work = self.shared / "victim"
        self.agent = SCRIPTED_AGENT[1].replace(sys.executable, python)
        self.victim.environ_more |= {SCRIPTED_AGENT[0]: self.agent, **ALL_PACKAGES}

    def stranger_makes(self, table: Table) -> None:
        """Lay out a table as the other user, with all their umask and none of our rights."""
        places = {**self.victim.places, "shared": str(self.shared), "agent": self.agent}
        as_user(STRANGER, lambda: lay_out(self.shared, table, places))

    def victim_arrives(self) -> None:
        """Give everything that is the victim's to the victim, who is an ordinary user."""
        self.work.mkdir(exist_ok=True)
        (self.work / "notes.txt").write_text("mine\n")
        for folder in (self.work, self.victim.root):
            for path in (folder, *folder.rglob("*")):
                os.chown(path, VICTIM, VICTIM, follow_symlinks=False)
        self.before = state_of(self.shared, without=(self.work / ".pi",))
        self.victim.arm()

    def run(self, *argv: str) -> Done:
        """Run the command as the victim, in the victim's directory below the shared one."""
        command = (*_AS_VICTIM, self.python, *COMMAND[1:])
        with self.victim.begin(*argv, command=command, cwd=self.work, preexec_fn=limit_memory) as process:
            out, err = process.communicate(timeout=PATIENCE_S)
        self.victim.until_alone()
        return Done(argv, process.returncode, out, err)

    def survives(self, *commands: Sequence[str]) -> None:
        """Run commands one after the other, and fail the test at the first that does harm."""
        for argv in commands:
            self.is_unharmed_by(self.run(*argv))

    def is_unharmed_by(self, done: Done) -> None:
        """Fail the test if something of the stranger's was run or changed, or something of the victim's."""
        changed = differences(self.before, state_of(self.shared, without=(self.work / ".pi",)))
        complaints = [*faults(done), *self.victim.damage(), *(line for line in changed if not _is_harmless(line))]
        assert not complaints, "\n".join([*complaints, str(done)])


def _is_harmless(line: str) -> bool:
    """Whether it only says that something was made where everybody may make something."""
    return line.startswith("made") or (line.partition(": ")[2].startswith("time") and "content" not in line)


def as_user(uid: int, work: Callable[[], None]) -> None:
    """Do something in a child that has become another user."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            work()
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert status == 0, "the stranger could not do it"


_PROBE = """
import subprocess, sys
import click, msgspec, pi_subagents
subprocess.run([sys.executable, "-c", ""], check=True)
"""


@cache
def interpreter() -> str | None:
    """One that an ordinary user can start: ours may be in the home of root."""
    for python in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"):
        with suppress(OSError):
            if not subprocess.run(
                [*_AS_VICTIM, python, "-c", _PROBE], capture_output=True, env=ALL_PACKAGES
            ).returncode:
                return python
    return None


@pytest.fixture
def shared() -> Iterator[Shared]:
    """Outside of pytest's own directories, which nobody but root can enter."""
    python = interpreter()
    if python is None:
        pytest.skip("not run, because this installation cannot be used by other users")
    place = Shared(Path(tempfile.mkdtemp(prefix="psa-", dir="/tmp")), python)
    yield place
    place.victim.end_leftovers()
    shutil.rmtree(place.root)
    shutil.rmtree(f"/tmp/pi-subagents-{VICTIM}", ignore_errors=True)


LOOKS = (
    ("sessions", "list"),
    ("sessions", "list", "--all"),
    ("sessions", "reindex"),
    ("sessions", "show", "5" * 16),
    ("sessions", "clean", "--keep", "0", "--yes"),
    ("background", "list", "--all"),
    ("profile", "list"),
    ("profile", "show", "strong"),
    ("preset", "list"),
    ("doctor",),
)
ACTS = (
    ("run", "Say hello"),
    ("run", "--trust", "Say hello"),
    ("run", "-p", "strong", "Say hello"),
    ("run", "-p", "safe", "Say hello"),
    ("call", "delegate_to_subagents", '{"tasks": [{"name": "a", "prompt": "b"}]}'),
    ("call", "subagent", '{"preset": "steady", "task": "Say hello"}'),
    ("background", "start", "steady", "Say hello"),
    ("sessions", "resume", "5" * 16, "Go on"),
    ("install", "pi", "--project"),
    ("init",),
    ("profile", "create", "new", "--scope", "project", "--model", "acme/large"),
)


def test_looking_in_a_shared_directory_gives_its_owner_no_power(shared: Shared) -> None:
    shared.stranger_makes(SHARED)
    shared.victim_arrives()
    shared.survives(*LOOKS)


@pytest.mark.parametrize("argv", ACTS, ids=" ".join)
def test_working_below_a_strangers_project_executes_nothing_of_it(argv: tuple[str, ...], shared: Shared) -> None:
    shared.stranger_makes(SHARED)
    for folder in (".pi", ".pi/subagents", RUNS, f"{RUNS}/.sessions"):
        (shared.shared / folder).chmod(0o777)  # an invitation to keep records there
    shared.victim_arrives()
    shared.survives(argv)


def test_not_even_trust_makes_a_strangers_files_ours(shared: Shared) -> None:
    shared.stranger_makes(SHARED)
    shared.victim_arrives()
    shared.survives(("trust", str(shared.shared)), ("run", "Say hello"), ("run", "--trust", "Say hello"), ("doctor",))


def test_a_file_of_a_strangers_in_a_trusted_project_of_ones_own_has_no_power(shared: Shared) -> None:
    shared.victim_arrives()
    (shared.work / ".pi").mkdir()
    (shared.work / ".git").mkdir()
    (shared.work / ".pi").chmod(0o1777)
    for path in (shared.work / ".pi", shared.work / ".git"):
        os.chown(path, VICTIM, VICTIM)
    shared.stranger_makes({"victim/.pi/settings.json": SHARED[".pi/settings.json"], "evil": SHARED["evil"]})
    assert shared.run("trust").exit_code is not None
    done = shared.run("run", "Say hello")
    assert list(shared.victim.tripwire.iterdir()) == [], str(done)


def test_a_directory_for_sockets_that_a_stranger_made_is_not_used(shared: Shared) -> None:
    trap = Path(f"/tmp/pi-subagents-{VICTIM}")
    as_user(STRANGER, trap.mkdir)
    trap.chmod(0o777)
    shared.victim_arrives()
    done = shared.run("background", "start", "steady", "Say hello")
    shared.is_unharmed_by(done)
    assert done.exit_code == 0, str(done)
    assert list(trap.iterdir()) == []


def test_a_directory_for_sockets_that_is_a_link_is_not_used(shared: Shared) -> None:
    trap = Path(f"/tmp/pi-subagents-{VICTIM}")
    as_user(STRANGER, lambda: trap.symlink_to(shared.victim.home / "checkout"))
    try:
        shared.victim_arrives()
        shared.survives(("background", "start", "steady", "Say hello"))
    finally:
        trap.unlink()


def test_links_that_a_stranger_put_where_the_victim_will_write_are_not_followed(shared: Shared) -> None:
    home = str(shared.victim.home)
    shared.stranger_makes(
        {
            ".git": Folder(),
            ".pi/subagents": Folder(),
            ".pi/subagents/runs": Link(f"{home}/other/{RUNS}"),
            ".pi/extensions": Link(f"{home}/.ssh"),
            ".mcp.json": Link(f"{home}/.config/app.json"),
        }
    )
    shared.victim_arrives()
    shared.survives(*LOOKS, *ACTS[:1], *ACTS[-3:])


def test_what_the_victim_runs_is_not_kept_where_a_stranger_owns_the_records(shared: Shared) -> None:
    shared.stranger_makes({".pi/subagents/runs/.sessions": Folder()})
    for folder in (".pi", ".pi/subagents", RUNS, f"{RUNS}/.sessions"):
        (shared.shared / folder).chmod(0o777)
    shared.victim_arrives()
    done = shared.run("run", "--json", "A secret task")
    assert not faults(done), str(done)
    assert MARK_VARIABLE not in done.said
    kept = [
        path for path in (shared.shared / RUNS).rglob("*") if path.is_file() and b"A secret task" in path.read_bytes()
    ]
    assert [path for path in kept if path.stat().st_mode & 0o077] == [], "nobody else can read it"
