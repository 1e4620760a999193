"""The `pi` coding agent in RPC mode, which is spoken to while it works, and given a fresh conversation afterwards.

For that it switches to the session file of the next run, which reads instructions, context files and settings anew and
sets model and thinking level back to those of the command line. What it does not undo is what extensions remember and
what tools left behind; who may be renewed is decided elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from pi_subagents.encoding import decoder_of
from pi_subagents.harness.contract import Dialogue, Invocation, Launch
from pi_subagents.harness.frames import repair
from pi_subagents.harness.pi.arguments import SESSION_FILE, pi_invocation
from pi_subagents.harness.pi.decoder import DIALOGS, PiDecoder
from pi_subagents.harness.pi.pi import Pi
from pi_subagents.harness.pi.programs import surroundings
from pi_subagents.harness.pi.records import UiRequest
from pi_subagents.jsonl import Frame
from pi_subagents.models import event as ev
from pi_subagents.models.discreet import Discreet


def _command(kind: str, **fields: Any) -> bytes:
    return msgspec.json.encode({"type": kind, **fields}) + b"\n"


class PiRpc(Pi):
    """`pi --mode rpc`."""

    name = "pi-rpc"
    can_steer = True
    can_be_kept = True
    fallback = "pi-json"

    def has_mode(self, answer: str) -> bool:
        """Whether the line about `--mode` in its help has the word."""
        return re.search(r"^\s*--mode\b.*\brpc\b", answer, re.MULTILINE) is not None

    def invocation(self, launch: Launch) -> Invocation:
        # The state tells the agent's own name for its conversation, which JSON mode says by itself.
        prompt = launch.prompt.encode("utf-8", "replace").decode()
        opening = _command("get_state", id="state") + _command("prompt", id="prompt", message=prompt)
        invocation = pi_invocation(launch, ("--mode", "rpc"), opening, interactive=True)
        return msgspec.structs.replace(invocation, renewal=_renewal(launch, invocation))

    def dialogue(self, invocation: Invocation) -> Dialogue:
        return _RpcDialogue()


_UI_REQUEST: msgspec.json.Decoder[UiRequest] = decoder_of(UiRequest)


class _RpcDialogue(PiDecoder):
    """Decodes records, sends messages, and answers extensions that wait for a person who is not there."""

    def __init__(self) -> None:
        self._replies = b""

    def decode(self, frame: Frame, at: int) -> list[ev.AnyEvent]:
        events = super().decode(frame, at)
        if isinstance(frame, bytes) and any(isinstance(event, ev.DialogDismissed) for event in events):
            request = _UI_REQUEST.decode(repair(frame) or frame)
            assert request.method in DIALOGS
            self._replies += _command("extension_ui_response", id=request.id, cancelled=True)
        return events

    def take_replies(self) -> bytes:
        replies, self._replies = self._replies, b""
        return replies

    def steer(self, text: str) -> bytes:
        return _command("steer", id="steer", message=text)

    def abort(self) -> bytes:
        return _command("abort", id="abort")


# --- the state of a process ----------------------------------------------------------------------------------

ANSWER_REQUESTS = ("--mode", "rpc", "--no-session")
GET_STATE = _command("get_state")
_UNKNOWN = "unknown"
"""What it says for a model and its provider where it has none."""


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
    command: str = ""
    success: bool = False
    id: str | None = None
    data: msgspec.Raw = msgspec.Raw(b"null")

    @property
    def state(self) -> _State | None:
        """What an answer to `get_state` tells, if it makes sense."""
        with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return _STATE.decode(self.data)
        return None


_ANSWER: msgspec.json.Decoder[_Answer] = decoder_of(_Answer)
_STATE: msgspec.json.Decoder[_State] = decoder_of(_State)


def _read(frame: bytes | str) -> _Answer | None:
    with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _ANSWER.decode(frame)
    return None


def default_in(answers: str) -> str | None:
    """The model in the answer to `GET_STATE` as `provider/id`; None if there is no such answer, or no model in it."""
    for answer in filter(None, map(_read, answers.splitlines())):
        if (state := answer.state) and (model := state.model):
            return f"{model.provider}/{model.id}" if _UNKNOWN not in (model.provider, model.id) else None
    return None


# --- renewal -------------------------------------------------------------------------------------------------

_OURS = "renewal"


class PiRenewal(Discreet, frozen=True):
    """The renewal for one run."""

    fingerprint: str
    run_dir: Path
    argv: tuple[str, ...]
    instructions: Mapping[str, bytes]
    surroundings: Callable[[], Mapping[Path, str] | None] = lambda: None

    _hidden = ("fingerprint", "surroundings")

    @property
    def conversation_file(self) -> Path:
        return self.run_dir / SESSION_FILE

    def command(self, folder: Path, conversation: Path) -> tuple[str, ...]:
        """With nothing in it that tells of a run."""
        moved = {str(self.run_dir / name): str(folder / name) for name in self.instructions}
        moved[str(self.conversation_file)] = str(conversation)
        return tuple(moved.get(word, word) for word in self.argv)

    @property
    def question(self) -> bytes:
        return _command("get_state", id=_OURS)

    @property
    def request(self) -> bytes:
        """Switch to the run's own file."""
        return _command("switch_session", id=_OURS, sessionPath=str(self.conversation_file))

    def identity(self, frame: bytes) -> str | None:
        """Model and thinking level, as an answer to `get_state` tells them."""
        answer = _read(frame)
        if answer is None or answer.command != "get_state" or not answer.success or not (state := answer.state):
            return None
        model = f"{state.model.provider}/{state.model.id}" if state.model else "none"
        return f"{model} {state.thinking_level}"

    def heard(self, frame: bytes, conversation: Path) -> bytes | bool:
        """Whether the process is in that conversation and nothing has been said in it."""
        answer = _read(frame)
        if answer is None or answer.id != _OURS:
            return b""
        if not answer.success:
            return False
        if answer.command == "switch_session":
            return self.question  # not sooner: commands are not handled one after the other
        state = answer.state
        if state is None or state.is_streaming or state.is_compacting or state.pending_message_count:
            return False
        return state.session_file == str(conversation) and state.message_count == 0


def _renewal(launch: Launch, invocation: Invocation) -> PiRenewal | None:
    """How a process of the same kind as `invocation` starts takes on this run."""
    # A key of its own is in a directory that ends with the run; a continued conversation is not a fresh one.
    if launch.conversation is not None or (launch.profile is not None and launch.profile.api_key is not None):
        return None
    argv = invocation.argv
    files = {file.name: file.content for file in invocation.files}
    instructions = {name: content for name, content in files.items() if str(launch.run_dir / name) in argv}
    renewal = PiRenewal("", launch.run_dir, argv, instructions, partial(surroundings, invocation))
    return msgspec.structs.replace(renewal, fingerprint=_fingerprint(renewal, invocation))


def _fingerprint(renewal: PiRenewal, invocation: Invocation) -> str:
    """Everything that decides how a process behaves before it is told its task; no two kinds have the same."""
    variables = [f"{name}={value}" for name, value in sorted(invocation.environ.items())]
    instructions = [repr(content) for content in renewal.instructions.values()]
    return "\0".join((*renewal.command(Path(), Path()), *variables, str(invocation.cwd), *instructions))
