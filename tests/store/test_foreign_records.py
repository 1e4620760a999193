"""What stands where records are and is not ours is shown, and nothing in it or behind it is ever changed."""

from __future__ import annotations

import logging
import os
import shutil
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from pi_subagents.errors import InvalidCall, PiSubagentsError, SessionNotFound, StoreError
from pi_subagents.models import Reason, Status
from pi_subagents.models import event as ev
from pi_subagents.outcome import LOST_SENTENCE
from pi_subagents.paths import runs_dir, runtime_dir
from pi_subagents.runs.background import Registry, mark_announced
from pi_subagents.runs.forms import session_row
from pi_subagents.runs.listing import Wanted, list_sessions
from pi_subagents.runs.live import ask_holder, follow_run
from pi_subagents.runs.retention import Rule, apply_retention, find_dispensable
from pi_subagents.runs.run import Run, run_page
from pi_subagents.runs.sessions import Sessions, claim_for_resume
from pi_subagents.settings import Settings
from pi_subagents.store import (
    FOREIGN,
    JOURNAL_FILE,
    LEASE_FILE,
    RESULT_FILE,
    list_runs,
    load_run,
    read_file,
    request_stop,
    session_runs,
)
from pi_subagents.store import record as records
from pi_subagents.store.record import OUR_FILES, put_address
from pi_subagents.store.removal import remove_session
from tests.kit.sessions import DAY_S, Kept, Shelf, says

NOBODY = 65534
only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory to somebody else")
SOME_FILES = (JOURNAL_FILE, LEASE_FILE, RESULT_FILE, "stop", "control", "notified", "child-session.jsonl")


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "precious").write_text("precious")
    return folder


def snapshot(*folders: Path) -> dict[Path, object]:
    """Everything that could be seen to have changed."""
    found: dict[Path, object] = {}
    for folder in folders:
        for path in [folder, *folder.rglob("*")]:
            status = path.lstat()
            content = path.read_bytes() if path.is_file() and not path.is_symlink() else None
            found[path] = (status.st_mode, status.st_uid, status.st_size, status.st_mtime_ns, status.st_ino, content)
    return found


# --- ways to be foreign -----------------------------------------------------------------------------------------


def link(path: Path, elsewhere: Path) -> None:
    path.symlink_to(elsewhere / "precious")


def others(path: Path, _elsewhere: Path) -> None:
    if os.geteuid():
        pytest.skip("only root can make a file that belongs to somebody else")
    path.touch()
    os.chown(path, NOBODY, NOBODY)


WAYS: dict[str, Callable[[Path, Path], None]] = {
    "link": link,
    "dangling link": lambda path, elsewhere: path.symlink_to(elsewhere / "not there yet"),
    "hard link": lambda path, elsewhere: path.hardlink_to(elsewhere / "precious"),
    "pipe": lambda path, _elsewhere: os.mkfifo(path),
    "others": others,
}


def put(path: Path, elsewhere: Path, way: Callable[[Path, Path], None] = link) -> None:
    """Have something that is not ours in the place of a file."""
    path.unlink(missing_ok=True)
    way(path, elsewhere)


def look_at_everything(shelf: Shelf, kept: Kept) -> None:
    """What a person, a model or a daily tidying does, without regard to what comes of it."""
    folder, session_id, place = kept.run_dir, kept.session_id, shelf.place
    attempts: list[Callable[[], object]] = [
        lambda: load_run(folder),
        lambda: run_page(folder),
        lambda: Sessions(place).find(session_id),
        lambda: list_sessions(place, Wanted()),
        lambda: list_sessions(place, Wanted(shelf.project, Status.RUNNING)),
        lambda: shelf.index.rebuild(),
        lambda: list(follow_run(folder)),
        lambda: request_stop(folder, "Enough"),
        lambda: mark_announced(folder),
        lambda: put_address(folder, "/somewhere"),
        lambda: ask_holder(folder, {"op": "stop"}),
        lambda: Registry(place, "terminal").runs(),
        lambda: claim_for_resume(Sessions(place), session_id).lease.release(),
        lambda: list(find_dispensable(shelf.project, Rule())),
        lambda: remove_session(shelf.folder, session_id),
        lambda: apply_retention(shelf.project, shelf.agent_dir, Settings(keep_sessions=0, keep_runs_days=1)),
    ]
    for attempt in attempts:
        with suppress(PiSubagentsError, OSError):
            attempt()


@pytest.mark.parametrize("ends", [Reason.SETTLED, None], ids=["ended", "unfinished"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", SOME_FILES)
def test_whatever_is_done_with_a_foreign_record_changes_nothing_in_it_or_behind_it(
    name: str, way: str, ends: Reason | None, shelf: Shelf, elsewhere: Path
) -> None:
    kept = shelf.add(says("Hello"), ends=ends, age_s=40 * DAY_S)
    if ends is None:
        kept.let_go()
    put(kept.run_dir / name, elsewhere, WAYS[way])
    before = snapshot(kept.run_dir, elsewhere)
    look_at_everything(shelf, kept)
    assert snapshot(kept.run_dir, elsewhere) == before
    assert (load_run(kept.run_dir).foreign or "").startswith(f"{FOREIGN}: {name} ")


@pytest.mark.parametrize("name", sorted(OUR_FILES))
def test_a_link_in_place_of_any_file_that_we_write_makes_a_record_foreign(
    name: str, shelf: Shelf, elsewhere: Path
) -> None:
    kept = shelf.add(says("Hello"))
    put(kept.run_dir / name, elsewhere)
    assert load_run(kept.run_dir).foreign


@pytest.mark.parametrize("ends", [Reason.SETTLED, None], ids=["ended", "unfinished"])
def test_a_run_that_is_a_link_is_listed_by_its_name_and_what_it_leads_to_is_left_alone(
    ends: Reason | None, shelf: Shelf, tmp_path: Path
) -> None:
    kept = shelf.add(says("Hello"), ends=ends, indexed=False)
    if ends is None:
        kept.let_go()
    kept.run_dir.rename(tmp_path / "moved")
    kept.run_dir.symlink_to(tmp_path / "moved")
    before = snapshot(tmp_path / "moved")
    look_at_everything(shelf, kept)
    assert snapshot(tmp_path / "moved") == before
    assert kept.run_dir.is_symlink()
    (found,) = shelf.listed()
    assert (found.state.session_id, found.state.name) == (kept.session_id, f"[{FOREIGN}]")
    assert FOREIGN in str(found.state.error)


@only_root
def test_the_record_of_another_user_is_read_and_left_alone(shelf: Shelf) -> None:
    kept = shelf.add(says("Hello"), name="theirs", ends=None)
    kept.let_go()
    for path in [kept.run_dir, *kept.run_dir.iterdir()]:
        os.chown(path, NOBODY, NOBODY)
    before = snapshot(kept.run_dir)
    look_at_everything(shelf, kept)
    assert snapshot(kept.run_dir) == before
    state = load_run(kept.run_dir)
    assert (state.text, state.name) == ("Hello", f"[{FOREIGN}] theirs")


# --- what is told of it -----------------------------------------------------------------------------------------


def test_an_unfinished_foreign_run_is_told_as_such_and_not_closed(shelf: Shelf, elsewhere: Path) -> None:
    kept = shelf.add(says("Half way"), name="shipped", ends=None)
    kept.let_go()
    put(kept.run_dir / "stop", elsewhere)
    state = load_run(kept.run_dir)
    assert (state.status, state.reason, state.text) == (Status.FAILED, Reason.LOST, "Half way")
    assert (state.error or "").startswith(f"Unfinished; {FOREIGN}: stop is a link")
    *_, end = follow_run(kept.run_dir)
    assert isinstance(end, ev.Ended)
    assert FOREIGN in str(end.message)
    assert b'"type":"ended"' not in (kept.run_dir / JOURNAL_FILE).read_bytes()


@pytest.mark.parametrize("known", [True, False])
def test_every_listing_says_whose_a_foreign_record_is(known: bool, shelf: Shelf, elsewhere: Path) -> None:
    kept = shelf.add(says("Done"), name="shipped", indexed=known)
    put(kept.run_dir / "stop", elsewhere)
    for _ in range(2):
        (found,) = shelf.listed()
        assert (found.state.status, found.state.name) == (Status.COMPLETED, f"[{FOREIGN}] shipped")
        assert session_row(found)["error"].startswith(FOREIGN)
    (created, *_rest) = follow_run(kept.run_dir)
    assert isinstance(created, ev.Created)
    assert created.name == f"[{FOREIGN}] shipped"
    (kept.run_dir / "stop").unlink()
    (found,) = shelf.listed()
    assert (found.state.name, found.state.error) == ("shipped", None)


def test_a_foreign_session_is_refused_with_the_reason(shelf: Shelf, elsewhere: Path) -> None:
    kept = shelf.add(says("Done"))
    put(kept.run_dir / RESULT_FILE, elsewhere)
    with pytest.raises(InvalidCall, match=f"Cannot resume: .*{FOREIGN}: result.json is a link"):
        claim_for_resume(Sessions(shelf.place), kept.session_id)
    with pytest.raises(StoreError, match=f"{FOREIGN} .result.json is a link.*nothing in it is changed"):
        request_stop(kept.run_dir, "Enough")
    with pytest.raises(StoreError, match="delete it yourself"):
        remove_session(shelf.folder, kept.session_id)


def test_its_end_is_announced_to_nobody(shelf: Shelf, elsewhere: Path) -> None:
    kept = shelf.add(ev.Detached(owner="terminal"))
    shelf.index.record(shelf.project, {kept.run_dir: load_run(kept.run_dir)})
    assert len(Registry(shelf.place, "terminal").unannounced()) == 1
    put(kept.run_dir / "stop", elsewhere)
    assert Registry(shelf.place, "terminal").unannounced() == []


# --- the place decides ------------------------------------------------------------------------------------------


def test_a_file_that_is_a_link_or_would_fill_the_memory_is_not_read(shelf: Shelf, elsewhere: Path) -> None:
    kept = shelf.add()
    put(kept.run_dir / "child-session.jsonl", elsewhere)
    assert read_file(kept.run_dir / "child-session.jsonl") == b""
    os.truncate(kept.run_dir / "meta.json", 64 * 1024 * 1024)
    assert len(read_file(kept.run_dir / "meta.json")) == 64 * 1024 * 1024
    os.truncate(kept.run_dir / "meta.json", 64 * 1024 * 1024 + 1)
    assert read_file(kept.run_dir / "meta.json") == b""


def test_the_directory_decides_which_run_and_session_a_record_is(shelf: Shelf) -> None:
    victim = shelf.add(says("Mine"), name="victim")
    liar = shelf.add(says("Lies"), name="liar")
    journal = liar.run_dir / JOURNAL_FILE
    lies = journal.read_bytes().replace(liar.session_id.encode(), victim.session_id.encode())
    journal.write_bytes(lies)
    assert victim.session_id.encode() in lies
    state = load_run(liar.run_dir)
    assert (state.run_id, state.session_id) == (liar.run_dir.name, liar.session_id)
    shelf.index.rebuild()
    named = {session.state.session_id: session.state.name for session in shelf.listed()}
    assert named == {victim.session_id: "victim", liar.session_id: "liar"}
    assert [run.state.name for run in Sessions(shelf.place).find(victim.session_id).runs] == ["victim"]


LIES: dict[str, Callable[[Kept, Kept, Kept], str]] = {
    "the checkout": lambda kept, _other, _theirs: f"/proc/self/cwd/../{kept.run_dir.parents[3].name}",
    "another project": lambda _kept, _other, theirs: str(theirs.run_dir),
    "another session": lambda _kept, other, _theirs: other.run_dir.name,
    "another session by a detour": lambda _kept, other, _theirs: f"../runs/{other.run_dir.name}",
    "above": lambda _kept, _other, _theirs: "..",
    "all of them": lambda _kept, _other, _theirs: ".",
    "nonsense": lambda kept, _other, _theirs: f"x\0-{kept.session_id}",
    "elsewhere": lambda kept, _other, _theirs: f"../../../../{kept.run_dir.name}",
}


@pytest.mark.parametrize("lie", LIES)
def test_only_run_ids_of_the_session_count_in_its_list(lie: str, shelf: Shelf, tmp_path: Path) -> None:
    theirs = Shelf(tmp_path / "other", tmp_path / "agent").add(name="theirs")
    kept, other = shelf.add(age_s=40 * DAY_S), shelf.add()
    runs, line = shelf.folder, LIES[lie](kept, other, theirs)
    (runs / ".sessions" / kept.session_id).write_text("\n".join([line, kept.run_dir.name, line]))
    assert session_runs(runs, kept.session_id) == [kept.run_dir]
    assert remove_session(runs, kept.session_id) == [kept.run_dir]
    assert shelf.runs == [other.run_dir.name]
    assert theirs.run_dir.is_dir()


def test_names_that_are_no_run_ids_are_no_records(shelf: Shelf) -> None:
    kept = shelf.add()
    for name in ("notes", "x\x1b[31m", "20260101T000000000-feed", "\udcff"):
        (shelf.folder / name).mkdir()
    assert list_runs(shelf.folder) == [kept.run_dir]


# --- what is above the records ----------------------------------------------------------------------------------

ABOVE = (".pi", ".pi/subagents", ".pi/subagents/runs")


@pytest.mark.parametrize("name", ABOVE)
def test_records_behind_a_link_are_neither_shown_nor_deleted_nor_added_to(
    name: str, shelf: Shelf, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert shelf.folder not in records._warned
    old = [shelf.add(age_s=40 * DAY_S, indexed=False) for _ in range(3)]
    (shelf.project / name).rename(tmp_path / "moved")
    (shelf.project / name).symlink_to(tmp_path / "moved")
    before = snapshot(tmp_path / "moved")
    with caplog.at_level(logging.WARNING):
        for kept in old:
            look_at_everything(shelf, kept)
        assert shelf.listed() == []
    assert snapshot(tmp_path / "moved") == before
    warnings = [record.getMessage() for record in caplog.records if "left alone" in record.getMessage()]
    assert len(warnings) == 1
    assert f"{shelf.project / name} is a link" in warnings[0]
    with pytest.raises(SessionNotFound):
        Sessions(shelf.place).find(old[0].session_id)


@pytest.mark.parametrize("name", ABOVE)
@pytest.mark.parametrize("kind", ["link", "dangling", "file"])
def test_a_run_is_refused_where_its_record_would_go_through_a_link(
    kind: str, name: str, shelf: Shelf, elsewhere: Path
) -> None:
    path = shelf.project / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("") if kind == "file" else path.symlink_to(elsewhere if kind == "link" else elsewhere / "missing")
    before = snapshot(elsewhere)
    with pytest.raises(StoreError, match=f"{path} is .*work in another directory"):
        shelf.add()
    assert snapshot(elsewhere) == before


@only_root
@pytest.mark.parametrize("name", ABOVE)
def test_a_run_is_refused_where_somebody_else_could_replace_its_record(name: str, shelf: Shelf) -> None:
    path = shelf.project / name
    path.mkdir(parents=True)
    os.chown(path, NOBODY, NOBODY)
    with pytest.raises(StoreError, match=f"{path} belongs to another user; put a directory of your own there"):
        shelf.add()
    assert list(path.iterdir()) == []


@only_root
def test_the_owner_of_the_project_is_no_stranger(shelf: Shelf) -> None:
    """As in a container, where root works in a directory of the user outside."""
    for name in (".", *ABOVE):
        (shelf.project / name).mkdir(parents=True, exist_ok=True)
        os.chown(shelf.project / name, NOBODY, NOBODY)
    assert shelf.add().run_dir.is_dir()


@pytest.mark.parametrize("name", [".gitignore", ".ignore"])
def test_what_keeps_git_away_is_not_written_through_a_link(name: str, shelf: Shelf, elsewhere: Path) -> None:
    runs = shelf.folder
    runs.mkdir(parents=True)
    (runs / name).symlink_to(elsewhere / "not there yet")
    shelf.add()
    assert not (elsewhere / "not there yet").exists()


def test_lists_of_sessions_behind_a_link_are_not_written(shelf: Shelf, elsewhere: Path) -> None:
    kept = shelf.add()
    sessions = shelf.folder / ".sessions"
    sessions.rename(shelf.project / "moved")
    sessions.symlink_to(elsewhere)
    before = snapshot(elsewhere)
    look_at_everything(shelf, kept)
    with pytest.raises(StoreError, match="cannot keep a record"):
        shelf.add()
    assert snapshot(elsewhere) == before
    assert kept.run_dir.is_dir()
    assert load_run(kept.run_dir).status is Status.COMPLETED


def test_the_stamp_of_the_daily_tidying_is_not_written_through_a_link(shelf: Shelf, elsewhere: Path) -> None:
    shelf.add()
    (shelf.folder / ".retention").symlink_to(elsewhere / "precious")
    before = snapshot(elsewhere)
    apply_retention(shelf.project, shelf.agent_dir, Settings(keep_sessions=5))
    assert snapshot(elsewhere) == before


def test_leftovers_of_others_and_links_are_not_deleted(shelf: Shelf, elsewhere: Path) -> None:
    shelf.add()
    (shelf.folder / ".x.gone").symlink_to(elsewhere)
    (shelf.folder / ".sessions" / "feedfeedfeedfeed").symlink_to(elsewhere / "precious")
    apply_retention(shelf.project, shelf.agent_dir, Settings(keep_sessions=5))
    assert (elsewhere / "precious").read_text() == "precious"
    assert (shelf.folder / ".x.gone").is_symlink()


# --- ours all the same ------------------------------------------------------------------------------------------


def test_a_project_that_is_reached_through_a_link_keeps_its_records(shelf: Shelf, tmp_path: Path) -> None:
    kept = shelf.add(ends=None)
    kept.let_go()
    (tmp_path / "short").symlink_to(shelf.project)
    run_dir = runs_dir(tmp_path / "short") / kept.run_dir.name
    assert load_run(run_dir).error == LOST_SENTENCE
    assert (kept.run_dir / RESULT_FILE).is_file()


def test_a_draft_that_was_put_there_before_is_not_written_through(shelf: Shelf, elsewhere: Path) -> None:
    kept = shelf.add(ends=None)
    kept.let_go()
    (kept.run_dir / f".{RESULT_FILE}.new").symlink_to(elsewhere / "precious")
    assert FOREIGN in (load_run(kept.run_dir).error or "")
    assert (elsewhere / "precious").read_text() == "precious"
    assert not (kept.run_dir / RESULT_FILE).exists()


@pytest.mark.parametrize("address", ["/run/docker.sock", "relative.sock", "x\0y", "", "\udcff"])
def test_only_a_socket_of_ours_is_spoken_to(address: str, shelf: Shelf, tmp_path: Path) -> None:
    kept = shelf.add(ends=None)
    (kept.run_dir / "control").write_bytes(address.encode("utf-8", "surrogateescape"))
    assert ask_holder(kept.run_dir, {"op": "stop"}) is None


def test_a_socket_elsewhere_hears_nothing(shelf: Shelf) -> None:
    folder = Path("/tmp") / f"x{os.urandom(4).hex()}"
    folder.mkdir(mode=0o700)
    try:
        with socket.socket(socket.AF_UNIX) as theirs:
            theirs.bind(str(folder / "theirs.sock"))
            theirs.listen()
            theirs.setblocking(False)
            kept = shelf.add(ends=None)
            (kept.run_dir / "control").write_text(str(folder / "theirs.sock"))
            assert ask_holder(kept.run_dir, {"op": "stop"}) is None
            with pytest.raises(BlockingIOError):
                theirs.accept()
    finally:
        (folder / "theirs.sock").unlink()
        folder.rmdir()
    assert runtime_dir() != folder


def test_a_copied_record_does_not_say_where_else_an_agent_works(shelf: Shelf, elsewhere: Path) -> None:
    kept = shelf.add(cwd=elsewhere)
    assert Run.load(kept.run_dir).resumed_task("Go on").cwd == str(elsewhere)
    shutil.copytree(kept.run_dir, shelf.project / "copy")
    shutil.rmtree(kept.run_dir)
    (shelf.project / "held so that the number is not given again").mkdir()
    (shelf.project / "copy").rename(kept.run_dir)
    with pytest.raises(InvalidCall, match=f"{elsewhere}, where the session worked, is outside .*--cwd"):
        Run.load(kept.run_dir).resumed_task("Go on")
