"""A victim: a home full of canaries, a project that a stranger wrote, and the command that the victim runs there.

Whatever the command is and whatever the project contains, the same must hold after it: `Victim.complaints` says what
does not. Programs that the project brings write into the tripwire directory when they are run.
"""

from __future__ import annotations

import json
import os
import pty
import re
import select
import shlex
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from pi_subagents.testing import MODELS_VARIABLE, SCRIPTED_AGENT
from tests.kit.before import be_limited, be_limited_at_terminal
from tests.kit.command import PYTHON_VARIABLES, REPOSITORY
from tests.kit.processes import kill, pids_with
from tests.kit.waiting import PATIENCE_S, until
from tests.kit.workplace import MARK_VARIABLE
from tests.security.things import (
    NEIGHBOUR,
    OTHER_LOST_RUN,
    OTHER_RUN,
    OTHER_SESSION,
    RUNS,
    State,
    Table,
    below,
    differences,
    finished,
    lay_out,
    state_of,
    unfinished,
)

LIMIT_S = PATIENCE_S
"""No command takes a tenth of it, unless it waits for something that never comes."""

MODEL = "acme/large"
PRIVATE = "PRIVATE-KEY-CANARY-7f3a9c51"
"""Stands in `~/.ssh/id_rsa`, and may be nowhere else."""

ESCAPE = "\x1b]0;PWNED\x07\x1b[2J\x1b[31m"
"""What a terminal would obey."""

COMMAND = (sys.executable, "-P", "-m", "pi_subagents")
ALL_PACKAGES = {
    "PYTHONPATH": os.pathsep.join([str(REPOSITORY / "src"), *(p for p in sys.path if p.endswith("site-packages"))])
}
"""For an interpreter that is not the one of our environment."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_OBEYED = re.compile(rb"(\x1b\]|\xc2\x9d)0;PWNED")

Message = dict[str, Any]


def limit_memory() -> None:
    """As `be_limited`, for a program that is to be a new interpreter."""
    be_limited()


def tellable(text: str) -> str:
    """The text as a report can hold it."""
    return text.encode("utf-8", "backslashreplace").decode()


@dataclass(frozen=True)
class Done:
    """How a command ended; `exit_code` None means that it did not and was killed."""

    argv: tuple[str, ...]
    exit_code: int | None
    stdout: bytes
    stderr: bytes
    at_terminal: bool = False

    @property
    def out(self) -> str:
        return self.stdout.decode(errors="replace")

    @property
    def err(self) -> str:
        return self.stderr.decode(errors="replace")

    @property
    def said(self) -> str:
        """Everything that was printed, without the folding of long lines."""
        return self.out + self.err

    def json(self) -> Any:
        return json.loads(self.stdout)

    def __str__(self) -> str:
        told = f"pi-subagents {shlex.join(self.argv)} → {self.exit_code}\n{self.out[-1000:]}\n{self.err[-1000:]}"
        return tellable(told)


# --- what lies in the victim's home ---------------------------------------------------------

_HOME: Table = {
    ".bashrc": "alias ll='ls -l'\n# no line break at the end",
    ".ssh/id_rsa": f"-----BEGIN OPENSSH PRIVATE KEY-----\n{PRIVATE}\n-----END OPENSSH PRIVATE KEY-----\n",
    ".ssh/authorized_keys": "ssh-ed25519 AAAA me\n",
    ".config/app.json": '{"mcpServers": {}}\n',
    ".cursor/mcp.json": "{}\n",
    "private/diary.md": f"---\nname: diary\ndescription: {PRIVATE}\n---\n{PRIVATE}\n",
    "checkout/.git/HEAD": "ref: refs/heads/main\n",
    "checkout/src/main.py": "print('hello')\n",
    "other/.git/HEAD": "ref: refs/heads/main\n",
    "other/README.md": "# Other\n",
    "other/.pi/agent-profiles/mine.md": "---\nname: mine\n---\nMine.\n",
    "other/.pi/extensions/own.ts": "export default () => {};\n",
    **below(f"other/{RUNS}/{OTHER_RUN}", finished(OTHER_RUN, "Of the other project.", name="other")),
    **below(f"other/{RUNS}/{OTHER_LOST_RUN}", unfinished(OTHER_LOST_RUN, name="other lost")),
    f"other/{RUNS}/.sessions/{OTHER_SESSION}": f"{OTHER_RUN}\n",
    ".pi/agent/settings.json": "{}\n",
    ".pi/agent/agent-profiles/safe.md": "---\nname: safe\nmodel: acme/large\n---\nBe safe.\n",
    ".pi/agent/subagents/steady.md": f"---\nname: steady\ndescription: Steady.\nmodel: {MODEL}\n---\n",
}


@dataclass
class Victim:
    """Who runs the command in the stranger's project."""

    root: Path
    clone_name: str = "clone"
    environ_more: dict[str, str] = field(default_factory=dict)
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)
    before: State = field(default_factory=dict)
    quiet: dict[str, State] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.home, self.clone = self.root / "home", self.root / self.clone_name
        self.tripwire, self.scratch = self.root / "tripwire", self.root / "scratch"
        self.agent_dir, self.runs = self.home / ".pi" / "agent", self.clone / RUNS
        for folder in (self.home, self.clone, self.tripwire, self.scratch, self.home / ".cache"):
            folder.mkdir(parents=True)
        lay_out(self.home, _HOME, {})
        (self.home / ".ssh" / "id_rsa").chmod(0o600)
        for folder in (self.home / "other" / RUNS, self.home / "other" / RUNS / OTHER_RUN):
            folder.chmod(0o700)

    @property
    def places(self) -> dict[str, str]:
        """What stands for the braces in a table."""
        return {
            "home": str(self.home),
            "clone": str(self.clone),
            "up": os.path.relpath(self.home, self.clone),
            "tripwire": str(self.tripwire),
            "python": sys.executable,
            "agent": SCRIPTED_AGENT[1],
        }

    @property
    def environ(self) -> dict[str, str]:
        return {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.home),
            **PYTHON_VARIABLES,
            "TERM": "xterm-256color",
            "PI_SUBAGENTS_DATA_DIR": str(self.scratch / "data"),
            "TMUX_TMPDIR": str(self.scratch),
            MARK_VARIABLE: self.mark,
            MODELS_VARIABLE: MODEL,
            **dict([SCRIPTED_AGENT]),
            **self.environ_more,
        }

    def receives(self, table: Table) -> None:
        """Clone what the stranger made."""
        lay_out(self.clone, table, self.places)

    def has_run_before(self, **more: Any) -> None:
        """Have a run of one's own in the clone."""
        self.receives(below(f"{RUNS}/{NEIGHBOUR}", finished(NEIGHBOUR, name="neighbour", **more)))

    def arm(self, *unchanged: Path) -> None:
        """From here on nothing of the victim's may change, nor what is named."""
        self.before = self._canaries()
        self.quiet = {str(path): state_of(path) for path in unchanged}

    def _canaries(self) -> State:
        ours = (self.agent_dir / "subagents", self.agent_dir / "extensions", self.home / ".cache")
        return state_of(self.home, without=ours) | state_of(self.clone / ".git", self.clone / "src")

    # --- running the command ---------------------------------------------------------------------------------

    def begin(self, *argv: str, command: Sequence[str] = COMMAND, **options: Any) -> subprocess.Popen[bytes]:
        """Start the command in the clone, with pipes behind it; `options` are those of `subprocess.Popen`."""
        pipe, null = subprocess.PIPE, subprocess.DEVNULL
        usual = {"cwd": self.clone, "env": self.environ, "stdin": null, "stdout": pipe, "stderr": pipe}
        return subprocess.Popen([*command, *argv], **{**usual, "preexec_fn": be_limited, **options})

    def start(self, *argv: str, **environ: str) -> subprocess.Popen[bytes]:
        """Start the command as a program that has the mark itself, and leave it running."""
        return self.begin(*argv, env={**self.environ, **environ}, preexec_fn=limit_memory)

    def run(self, *argv: str, stdin: str | bytes = "", cwd: Path | None = None, **environ: str) -> Done:
        """Run the command in the clone, in a pipe."""
        with TemporaryFile() as given, TemporaryFile() as out, TemporaryFile() as err:
            given.write(stdin if isinstance(stdin, bytes) else stdin.encode("utf-8", "surrogateescape"))
            given.seek(0)
            streams: dict[str, Any] = {"stdin": given, "stdout": out, "stderr": err, "start_new_session": True}
            process = self.begin(*argv, cwd=cwd or self.clone, env={**self.environ, **environ}, **streams)
            exit_code = _end_of(process, LIMIT_S)
            return Done(argv, exit_code, _all_of(out), _all_of(err))

    def run_at_terminal(self, *argv: str, shown: bytes = b"", typed: bytes = b"") -> Done:
        """Run the command at a terminal; type once something is shown, or once it has ended without that."""
        master, slave = pty.openpty()
        streams: dict[str, Any] = {"stdin": slave, "stdout": slave, "stderr": slave, "start_new_session": True}
        process = self.begin(*argv, preexec_fn=be_limited_at_terminal, **streams)
        pidfd = os.pidfd_open(process.pid)
        heard = _listen(master, pidfd, lambda text: shown in text, LIMIT_S)
        os.write(master, typed)
        heard += _listen(master, pidfd, lambda _text: False, LIMIT_S + 5)
        exit_code = _end_of(process, 0.1)
        os.close(slave)
        heard += _listen(master, pidfd, lambda _text: False, 1.0)
        os.close(master)
        os.close(pidfd)
        return Done(argv, exit_code, heard, b"", at_terminal=True)

    def asks(self, server: str, question: bytes) -> Done:
        """Put a question to a server, whose input stays open until it has answered with a line."""
        with self.begin(server, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            answer = _answer_line(process, question)
        return Done((server,), process.returncode, answer, b"")

    def converse(self, server: str, messages: Sequence[Message]) -> list[Message]:
        """Speak to a server over its streams, one message after the other; all that it says until the last answer."""
        said: list[Message] = []
        with self.begin(server, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            assert process.stdin is not None
            for message in messages:
                line = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
                if "id" not in message:
                    process.stdin.write(line)
                    continue
                said.append(json.loads(_answer_line(process, line)))
                while not _answers(said[-1], message):
                    said.append(json.loads(_answer_line(process)))
        return said

    def until_alone(self) -> None:
        """Wait until what was started has ended, in the background too."""
        until(lambda: not self.processes(), "everything that was started has ended")

    # --- what must hold ------------------------------------------------------------------------------------------

    def complaints(self, done: Done, *, writes: tuple[str, ...] = ()) -> list[str]:
        """What is wrong after a command; `writes` are beginnings of paths in the home that it is there to write."""
        return [*faults(done), *self.damage(writes), *self.leaks(done)]

    def is_unharmed_by(self, done: Done, *, writes: tuple[str, ...] = (), why: str = "") -> None:
        """Fail the test, and say all that is wrong."""
        complaints = self.complaints(done, writes=writes)
        assert not complaints, tellable("\n".join([why, *complaints, str(done)]))

    def survives(self, *commands: Sequence[str]) -> list[Done]:
        """Run commands one after the other, and fail the test at the first that does harm."""
        ended = []
        for argv in commands:
            ended.append(self.run(*argv))
            self.is_unharmed_by(ended[-1])
        return ended

    def damage(self, writes: tuple[str, ...] = ()) -> list[str]:
        """What was executed, or changed, that is none of the command's business."""
        found = [f"executed: {path.name}" for path in sorted(self.tripwire.iterdir())]
        changed = differences(self.before, self._canaries())
        expected = tuple(str(self.home / path) for path in writes)
        found += [line for line in changed if not (expected and _path_in(line).startswith(expected))]
        for path, state in self.quiet.items():
            found += differences(state, state_of(Path(path)))
        return found

    def leaks(self, done: Done) -> list[str]:
        """Where the private key of the victim's is now."""
        found = ["the private key was printed"] if PRIVATE.encode() in done.stdout + done.stderr else []
        return found + [f"the private key is in {path}" for path in files_with(PRIVATE, self.clone, self.agent_dir)]

    def end_leftovers(self) -> None:
        """End what a test has left running."""
        kill(*self.processes())

    def processes(self) -> list[int]:
        """Everything alive that the command of this victim started."""
        return pids_with(self.mark)


def _answer_line(process: subprocess.Popen[bytes], question: bytes = b"") -> bytes:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(question)
    process.stdin.flush()
    return process.stdout.readline()


def _answers(said: Message, message: Message) -> bool:
    return "method" not in said and said.get("id") == message["id"]


def faults(done: Done) -> list[str]:
    """What is wrong with the way a command ended, whatever it was to do."""
    found = []
    if done.exit_code is None:
        found.append(f"did not end within {LIMIT_S:g} s")
    elif done.exit_code < 0:
        found.append(f"died of signal {-done.exit_code}")
    if b"Traceback (most recent call last)" in done.stdout + done.stderr:
        found.append(f"a traceback: {done.err.strip().splitlines()[-1:]}")
    if done.at_terminal:
        return found + (["the terminal was commanded"] if _OBEYED.search(done.stdout) else [])
    for name, data in (("stdout", done.stdout), ("stderr", done.stderr)):
        if control := _CONTROL.search(data.decode(errors="replace")):
            start = max(0, control.start() - 30)
            found.append(f"raw control characters on {name}: {data.decode(errors='replace')[start : start + 60]!r}")
        with suppress(UnicodeDecodeError):
            data.decode()
            continue
        found.append(f"{name} is not UTF-8")
    return found


def files_with(text: str, *folders: Path) -> list[str]:
    """The regular files below some folders that contain a text; links are not followed."""
    found = []
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            with suppress(OSError):
                if path.is_file() and not path.is_symlink() and path.stat().st_nlink == 1:
                    found += [str(path)] if text.encode() in path.read_bytes() else []
    return found


def _path_in(line: str) -> str:
    return line.partition(" ")[2].partition(": ")[0]


def _end_of(process: subprocess.Popen[bytes], limit_s: float) -> int | None:
    """The exit code of the leader of a session; None if it had to be killed."""
    try:
        return process.wait(limit_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(PATIENCE_S)
        return None


def _all_of(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


def _listen(master: int, ended: int, enough: Callable[[bytes], bool], limit_s: float) -> bytes:
    """What comes from a terminal, until it is enough, its program has ended or time is over."""
    heard = b""
    deadline = time.monotonic() + limit_s
    while not enough(heard) and (left := deadline - time.monotonic()) > 0:
        ready, _, _ = select.select([master, ended], [], [], left)
        if master not in ready:
            break
        try:
            heard += os.read(master, 65536)
        except OSError:  # how Linux says that the other end is closed
            break
    return heard
