"""The journal reads back what was written, and survives whatever happened to the file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_subagents.errors import StoreError
from pi_subagents.harness.pi.decoder import PiDecoder
from pi_subagents.models import Reason, Status, Usage
from pi_subagents.models import event as ev
from pi_subagents.store import Journal, read_journal

MESSAGE = ev.Message(
    at=3,
    role="assistant",
    parts=(
        ev.TextPart("héllo\u2028\n\0"),
        ev.ThinkingPart("hm"),
        ev.ToolCallPart("1", "bash", {"command": "ls", "n": [1, None, 2.5, 2**70]}),
        ev.ImagePart("image/png", 7),
    ),
    usage=Usage(1, 2, 3, 4, 10, 0.5),
    stop_reason="toolUse",
)
EVENTS: list[ev.Event] = [
    ev.Created(at=1, run_id="r", session_id="s", name="n", prompt="p", cwd="/", harness="pi-json", timeout_s=600),
    ev.Started(at=2, pid=7, containment="guard"),
    MESSAGE,
    ev.AgentEnded(at=4, will_retry=None),
    ev.StopRequested(at=5, reason=Reason.LOOP, message="Loop detected"),
    ev.Unknown(at=6, kind="novelty", record=msgspec.Raw(b'{"type":"novelty"}')),
    ev.Exited(at=7, exit_code=143),
    ev.Ended(at=8, status=Status.FAILED, reason=Reason.LOOP, message="Loop detected"),
]


def written(path: Path, events: list[ev.Event]) -> Path:
    journal = Journal(path)
    journal.append(events)
    journal.sync()
    journal.close()
    return path


def test_every_event_reads_back_as_it_was(tmp_path: Path) -> None:
    assert list(read_journal(written(tmp_path / "j", EVENTS))) == EVENTS


def test_appending_goes_on_where_the_file_ends(tmp_path: Path) -> None:
    for event in EVENTS:
        written(tmp_path / "j", [event])
    assert list(read_journal(tmp_path / "j")) == EVENTS
    assert (tmp_path / "j").stat().st_mode & 0o777 == 0o600


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    path = written(tmp_path / "j", EVENTS)
    whole = path.read_bytes()
    last = whole[:-1].rindex(b"\n") + 1
    for cut in (last + 1, last + 10, len(whole) - 1):
        path.write_bytes(whole[:cut])
        assert list(read_journal(path)) == EVENTS[:-1]


@pytest.mark.parametrize(
    "damage",
    [b"\0" * 100, b"\xff\xfe", b"{}", b'{"type":"from the future","at":1}', b"[" * 100_000, b'{"type":"exited"}'],
)
def test_a_damaged_line_is_kept_as_unknown_and_hides_nothing(damage: bytes, tmp_path: Path) -> None:
    path = written(tmp_path / "j", EVENTS[:2])
    path.write_bytes(path.read_bytes() + damage + b"\n")
    written(path, EVENTS[2:])
    read = list(read_journal(path))
    assert [*read[:2], *read[3:]] == EVENTS
    assert isinstance(read[2], ev.Unknown)


def test_a_journal_that_cannot_be_written_says_which_and_why(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"cannot open the journal .*/no/j: No such file or directory"):
        Journal(tmp_path / "no" / "j")
    journal = Journal(Path("/dev/full"))
    with pytest.raises(StoreError, match="cannot write the journal /dev/full: No space left on device"):
        journal.append(EVENTS)
    journal.close()


def test_closing_twice_closes_nothing_of_somebody_else(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    journal.close()
    others = os.open(tmp_path / "j", os.O_RDONLY)
    journal.close()
    os.fstat(others)
    os.close(others)


records = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.binary(max_size=300)
    | st.builds(
        lambda kind, rest: json.dumps({"type": kind, **rest}).encode(),  # half of a surrogate pair as well, and NaN
        st.sampled_from(["message_end", "entry_appended", "tool_execution_start", "turn_end", "novelty"]),
        st.dictionaries(st.sampled_from(["message", "entry", "args", "toolCallId", "toolName"]), records),
    )
)
def test_whatever_an_agent_prints_can_be_journalled_and_read_back(
    tmp_path_factory: pytest.TempPathFactory, frame: bytes
) -> None:
    events: list[ev.Event] = list(PiDecoder().decode(frame, 5))
    path = tmp_path_factory.mktemp("j") / "j"
    read = list(read_journal(written(path, events)))
    assert read == events
    path.read_bytes().decode()


def test_every_kind_of_event_has_a_tag_of_its_own() -> None:
    tags = [kind.__struct_config__.tag for kind in get_args(ev.AnyEvent)]
    assert len(set(tags)) == len(tags)
