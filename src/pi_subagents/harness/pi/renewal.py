"""Giving a `pi` in RPC mode a fresh conversation: it switches to the session file of the next run.

That reads instructions, context files and settings anew and sets model and thinking level back to those of the command
line. What it does not undo is what extensions remember and what tools left behind; who may be renewed is decided
elsewhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import msgspec

from pi_subagents.harness.contract import Invocation, Launch
from pi_subagents.harness.pi.surroundings import surroundings

_OURS = "renewal"


class _Model(msgspec.Struct):
    id: str
    provider: str


class _State(msgspec.Struct, rename="camel"):
    session_file: str | None = None
    model: _Model | None = None
    thinking_level: str | None = None
    message_count: int = 0
    pending_message_count: int = 0
    is_streaming: bool = False
    is_compacting: bool = False


class _Answer(msgspec.Struct, tag_field="type", tag="response"):
    command: str
    success: bool
    id: str | None = None
    data: msgspec.Raw = msgspec.Raw(b"null")


_ANSWER = msgspec.json.Decoder(_Answer)
_STATE = msgspec.json.Decoder(_State)


@dataclass(frozen=True, slots=True)
class PiRenewal:
    """The renewal for one run."""

    fingerprint: str
    session_file: Path
    reads: Mapping[Path, bytes]
    surroundings: Callable[[], Mapping[Path, str] | None] = field(default=lambda: None, repr=False)

    @property
    def request(self) -> bytes:
        """Switch to the run's own file."""
        return _command("switch_session", sessionPath=str(self.session_file))

    def identity(self, frame: bytes) -> str | None:
        """Model and thinking level, as an answer to `get_state` tells them."""
        answer = _read(frame)
        if answer is None or answer.command != "get_state" or not answer.success:
            return None
        state = _state(answer)
        if state is None:
            return None
        model = f"{state.model.provider}/{state.model.id}" if state.model else "none"
        return f"{model} {state.thinking_level}"

    def heard(self, frame: bytes) -> bytes | bool:
        """Whether the process is in the run's own conversation and nothing has been said in it."""
        answer = _read(frame)
        if answer is None or answer.id != _OURS:
            return b""
        if not answer.success:
            return False
        if answer.command == "switch_session":
            return _command("get_state")  # not sooner: commands are not handled one after the other
        state = _state(answer)
        if state is None:
            return False
        busy = state.is_streaming or state.is_compacting or state.pending_message_count
        return state.session_file == str(self.session_file) and state.message_count == 0 and not busy


def renewal_for(launch: Launch, invocation: Invocation, session_file: Path) -> PiRenewal:
    """How a process of the same kind as `invocation` starts takes on this run."""
    argv = [word for word in invocation.argv if word != str(session_file)]
    files = {launch.run_dir / file.name: file.content for file in invocation.files}
    reads = {path: content for path, content in files.items() if str(path) in argv}
    fingerprint = _fingerprint(launch, argv, invocation, reads)
    return PiRenewal(fingerprint, session_file, reads, partial(surroundings, invocation))


def _fingerprint(launch: Launch, argv: Sequence[str], invocation: Invocation, reads: Mapping[Path, bytes]) -> str:
    """A name for everything that decides how a process behaves before it is told its task."""
    # What is in the run directory differs in its path alone; what counts is in the files.
    words = [word.replace(str(launch.run_dir), "") for word in argv]
    variables = [f"{name}={value}" for name, value in sorted(invocation.environ.items())]
    digest = hashlib.sha256()
    for text in (*words, *variables, str(invocation.cwd)):
        digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
    for content in reads.values():
        digest.update(content + b"\0")
    return digest.hexdigest()


def _command(kind: str, **fields: str) -> bytes:
    return msgspec.json.encode({"type": kind, "id": _OURS, **fields}) + b"\n"


def _read(frame: bytes) -> _Answer | None:
    try:
        return _ANSWER.decode(frame)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _state(answer: _Answer) -> _State | None:
    try:
        return _STATE.decode(answer.data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
