"""Whoever closes a run whose holder was killed takes keys out of it without ever having known them."""

from __future__ import annotations

import json
import logging
import os
import time
import tracemalloc
from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_subagents.files import Directory
from pi_subagents.harness import RunFile
from pi_subagents.models import Reason
from pi_subagents.models import event as ev
from pi_subagents.outcome import ending
from pi_subagents.paths import runs_dir
from pi_subagents.redaction import MARK, Redactor
from pi_subagents.store import JOURNAL_FILE, RESULT_FILE, TIDY_FILE, load_run, publish, tidying_note
from pi_subagents.store.tidying import Cleaner, Tidying, tidy

KEY = 'sk-live-"quoted"-0123456789abcdef'
SHORT = "hunter2!"
SESSION = "child-session.jsonl"
RUN = "20260101T000000000-0123456789abcdef"
CREATED = ev.Created(run_id=RUN, session_id=RUN[19:], name="n", prompt="p", cwd="/", harness="pi-json")


def note_for(*secrets: str, temporary: Iterable[str] = (), written: Iterable[str] = (SESSION,)) -> bytes:
    return tidying_note(temporary, written, Redactor(secrets).forms)


def cleaned(data: bytes, note: bytes, piece_bytes: int = 1 << 20) -> bytes:
    pieces = (data[start : start + piece_bytes] for start in range(0, len(data), piece_bytes))
    return b"".join(Cleaner(msgspec.json.decode(note, type=Tidying)).clean(pieces))


@pytest.mark.parametrize("piece_bytes", [1, 7, 33, 1 << 20])
def test_a_key_is_found_in_every_form_and_over_every_boundary(piece_bytes: int) -> None:
    data = f"plain {KEY} escaped {json.dumps(KEY)} half {KEY[:20]} short {SHORT}{SHORT} sk-live-other".encode()
    expected = Redactor([KEY, SHORT]).record(data)
    assert cleaned(data, note_for(KEY, SHORT), piece_bytes) == expected
    assert expected.count(MARK.encode()) == 4


@given(st.binary(max_size=200), st.integers(1, 50), st.integers(0, 200))
def test_what_is_no_key_stays_byte_for_byte(data: bytes, piece_bytes: int, at: int) -> None:
    assert cleaned(data, note_for(KEY), piece_bytes) == data
    with_key = data[:at] + KEY.encode() + data[at:]
    assert cleaned(with_key, note_for(KEY), piece_bytes) == Redactor([KEY]).record(with_key)


def test_the_note_tells_no_more_of_a_key_than_how_it_begins() -> None:
    note = note_for(KEY, SHORT)
    decoded = msgspec.json.decode(note, type=Tidying)
    told = b"".join(msgspec.structs.asdict(one)["anchor"] for one in decoded.secrets)
    assert all(len(one.anchor) <= 4 for one in decoded.secrets)
    assert [one.anchor for one in decoded.secrets if one.length == len(SHORT)] == [SHORT[:1].encode()]
    for secret in (KEY, SHORT):
        assert secret[:5].encode() not in note + told
    assert note_for(KEY) != note_for(KEY), "with another salt each time"


# --- in a record ------------------------------------------------------------------------------------------------


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    return runs_dir(tmp_path) / RUN


def leave_behind(run_dir: Path, note: bytes, *, session: bytes = b"", ended: bool = False) -> None:
    """What a killed holder leaves."""
    files = [RunFile(SESSION, session), RunFile("agent-dir/auth.json", b"{}"), RunFile(TIDY_FILE, note)]
    record = publish(run_dir, {}, CREATED, files)
    if ended:
        record.append([ending(Reason.SPAWN, "no such program", 5)])
        record.draft_result({})
        record.publish_result()
    record.close()


@pytest.mark.parametrize("ended", [False, True])
def test_whoever_reads_a_run_that_was_left_untidy_tidies_it(run_dir: Path, ended: bool) -> None:
    session = json.dumps({"text": f"PI_API_KEY={KEY}"}).encode() + b"\n"
    leave_behind(run_dir, note_for(KEY, temporary=["agent-dir"]), session=session, ended=ended)
    (run_dir / ".result.json.0123456789abcdef.new").touch()
    load_run(run_dir)
    assert (run_dir / SESSION).read_bytes() == Redactor([KEY]).record(session)
    assert (run_dir / SESSION).stat().st_mode & 0o777 == 0o600
    names = {path.name for path in run_dir.iterdir()}
    assert not names & {"agent-dir", TIDY_FILE}
    assert {JOURNAL_FILE, RESULT_FILE} <= names
    assert ended or ".result.json.0123456789abcdef.new" not in names


@pytest.mark.parametrize(
    "note",
    [
        b"",
        b"\xff{",
        b"[]",
        b'{"temporary": 5}',
        msgspec.json.encode(Tidying(temporary=("../other", "/etc", "..", ".", "", "a/b", "x\0"))),
        msgspec.json.encode(Tidying(written=("../other", "/etc/passwd", "..", "", "x\0"))),
        msgspec.json.encode(Tidying(temporary=(JOURNAL_FILE, "lease", "meta.json"))),
        msgspec.json.encode(Tidying(cwd="/x\0", placeholders=("x",))),
    ],
)
def test_a_note_that_was_made_up_leads_nowhere(run_dir: Path, note: bytes) -> None:
    other = run_dir.parent / "other"
    other.mkdir(parents=True)
    (other / "precious").write_text("precious")
    leave_behind(run_dir, note, session=b"untouched\n")
    assert load_run(run_dir).reason is Reason.LOST
    assert (other / "precious").read_text() == "precious"
    assert (run_dir / SESSION).read_bytes() == b"untouched\n"
    names = {path.name for path in run_dir.iterdir()}
    assert {JOURNAL_FILE, "lease", "meta.json", RESULT_FILE} <= names
    assert TIDY_FILE not in names


def test_of_directories_that_hold_a_place_only_empty_ones_go(run_dir: Path, tmp_path: Path) -> None:
    names = (".git", ".codex", ".aws", "../other", "link")
    leave_behind(run_dir, tidying_note((), (), (), str(tmp_path / "work"), names))
    for name in ("work/.git", "work/.codex", "work/more", "other"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "work/.aws").mkdir()
    (tmp_path / "work/.codex/config.toml").touch()
    (tmp_path / "work/link").symlink_to(tmp_path / "work/more")
    load_run(run_dir)
    assert {path.name for path in (tmp_path / "work").iterdir()} == {".codex", "more", "link"}
    assert (tmp_path / "other").exists()


def test_an_empty_directory_that_came_alone_is_somebody_elses(run_dir: Path, tmp_path: Path) -> None:
    (tmp_path / ".agents").mkdir()
    leave_behind(run_dir, tidying_note((), (), (), str(tmp_path), (".agents", ".codex")))
    load_run(run_dir)
    assert not (run_dir / TIDY_FILE).exists()
    assert (tmp_path / ".agents").exists()


def test_what_the_agent_put_in_place_of_its_file_is_not_followed(run_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text(f"my own note of {KEY}")
    leave_behind(run_dir, note_for(KEY, written=["notes"]))
    (run_dir / "notes").symlink_to(tmp_path / "elsewhere")
    assert load_run(run_dir).foreign
    with Directory.at(run_dir) as run:  # even for whoever held it by then
        tidy(run)
    assert KEY in (tmp_path / "elsewhere").read_text()
    assert not (run_dir / "notes").is_symlink()


def test_a_note_that_was_made_to_waste_time_does_not(run_dir: Path, caplog: pytest.LogCaptureFixture) -> None:
    greedy = msgspec.json.decode(note_for("a" * 60_000), type=Tidying)
    greedy = msgspec.structs.replace(
        greedy, secrets=tuple(msgspec.structs.replace(one, anchor=b"a", hash=b"?") for one in greedy.secrets)
    )
    leave_behind(run_dir, msgspec.json.encode(greedy), session=b"a" * 2_000_000)
    started = time.process_time()
    with caplog.at_level(logging.WARNING):
        load_run(run_dir)
    assert time.process_time() - started < 30
    assert not (run_dir / TIDY_FILE).exists()


def test_a_session_of_many_megabytes_is_cleaned_in_little_memory(run_dir: Path) -> None:
    line = os.urandom(3000).hex().encode() + b"\n"
    leave_behind(run_dir, note_for(KEY), session=line * 2000 + KEY.encode() + line * 2000)
    tracemalloc.start()
    try:
        load_run(run_dir)
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
    finally:
        tracemalloc.stop()
    assert (run_dir / SESSION).read_bytes() == line * 2000 + MARK.encode() + line * 2000


@pytest.mark.parametrize("keys", [[], [KEY]])
def test_a_file_that_is_one_huge_hole_is_not_filled(run_dir: Path, keys: list[str]) -> None:
    leave_behind(run_dir, note_for(*keys))
    os.truncate(run_dir / SESSION, 1 << 42)
    load_run(run_dir)
    assert (run_dir / SESSION).exists() is not bool(keys), "in what is kept no key may be left"
    assert not (run_dir / TIDY_FILE).exists()


def test_a_key_is_taken_out_of_a_file_with_the_longest_name(run_dir: Path) -> None:
    name = "n" * 255
    leave_behind(run_dir, note_for(KEY, written=[name]))
    (run_dir / name).write_text(f"the key: {KEY}")
    load_run(run_dir)
    assert (run_dir / name).read_text() == f"the key: {MARK}"


@pytest.mark.parametrize(
    "content",
    [
        b'{"x":' + b"[" * 500_000,
        json.dumps({"written": ["big"] * 100_000}).encode(),
        json.dumps({"temporary": [str(number) for number in range(100_000)]}).encode(),
    ],
    ids=["deep", "many written", "many temporary"],
)
def test_a_note_that_was_made_to_waste_time_is_not_followed(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "big").write_bytes(b"x" * 1000)
    (tmp_path / "1").write_bytes(b"")
    (tmp_path / TIDY_FILE).write_bytes(content)
    before = (tmp_path / "big").stat().st_ino
    with Directory.at(tmp_path) as run:
        tidy(run)
    assert (tmp_path / "big").stat().st_ino == before
    assert (tmp_path / "1").exists()
    assert not (tmp_path / TIDY_FILE).exists()


def test_a_file_that_is_named_twice_is_cleaned_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cleaned_files: list[str] = []

    def clean(_note: object, _run: object, name: str) -> bool:
        cleaned_files.append(name)
        return True

    monkeypatch.setattr("pi_subagents.store.tidying._redact", clean)
    (tmp_path / SESSION).write_bytes(b"x")
    (tmp_path / TIDY_FILE).write_bytes(note_for(KEY, written=[SESSION] * 500))
    with Directory.at(tmp_path) as run:
        tidy(run)
    assert cleaned_files == [SESSION]
