"""What a stranger put into a directory can be read where that is safe, and leads nowhere else."""

from __future__ import annotations

import ctypes
import os
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pi_subagents.files import Directory, end_of_hole, read_bounded

NOBODY = 65534
PR_SET_DUMPABLE = 4


def test_a_file_is_read_up_to_its_bound(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    assert read_bounded(tmp_path / "a", 5) == b"12345"
    with pytest.raises(OSError, match="larger than 4 bytes"):
        read_bounded(tmp_path / "a", 4)


@pytest.mark.parametrize("place", ["/dev/zero", "/dev/null", "/dev/tty", "pipe"])
def test_a_device_or_a_pipe_without_a_writer_is_refused_at_once(place: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "a").symlink_to(place)
    with pytest.raises(OSError, match="not a regular file"):
        read_bounded(tmp_path / "a")


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    target = tmp_path / "elsewhere"
    target.mkdir()
    (target / "precious").write_text("precious")
    return target


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "tree").mkdir()
    return tmp_path / "tree"


ATTEMPTS: dict[str, Callable[[Directory], object]] = {
    "read": lambda tree: tree.read("link"),
    "append": lambda tree: os.close(tree.open("link", os.O_WRONLY | os.O_APPEND | os.O_CREAT)),
    "create": lambda tree: tree.create("link", b"x"),
    "enter": lambda tree: tree.below("link"),
    "enter below": lambda tree: tree.below("folder", "link"),
    "make": lambda tree: tree.make("link"),
}


@pytest.mark.parametrize("attempt", ATTEMPTS)
@pytest.mark.parametrize("target", ["precious", "nothing", "."])
def test_a_link_is_refused(attempt: str, target: str, tree: Path, elsewhere: Path) -> None:
    (tree / "link").symlink_to(elsewhere / target)
    (tree / "folder").mkdir()
    (tree / "folder" / "link").symlink_to(elsewhere / target)
    with Directory.at(tree) as directory, pytest.raises(OSError, match=r"link|exists|symbolic"):
        ATTEMPTS[attempt](directory)
    assert sorted(path.name for path in elsewhere.iterdir()) == ["precious"]
    assert (elsewhere / "precious").read_text() == "precious"


def test_replacing_and_removing_act_on_a_link_and_not_on_its_target(tree: Path, elsewhere: Path) -> None:
    for name in ("file", "folder"):
        (tree / name).symlink_to(elsewhere / "precious" if name == "file" else elsewhere)
    with Directory.at(tree) as directory:
        directory.replace("file", b"new")
        directory.remove("folder")
    assert not (tree / "folder").is_symlink()
    assert (tree / "file").read_text() == "new"
    assert (elsewhere / "precious").read_text() == "precious"


def test_removing_a_folder_leaves_what_links_in_it_lead_to(tree: Path, elsewhere: Path) -> None:
    (tree / "folder" / "deeper").mkdir(parents=True)
    (tree / "folder" / "deeper" / "link").symlink_to(elsewhere)
    with Directory.at(tree) as directory:
        directory.remove("folder")
    assert not (tree / "folder").exists()
    assert (elsewhere / "precious").exists()


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/etc/passwd", "../elsewhere/precious", "a\0b"])
def test_only_a_plain_name_is_taken(name: str, tree: Path, elsewhere: Path) -> None:
    with Directory.at(tree) as directory:
        for act in (directory.read, directory.remove, directory.unlink, directory.create, directory.below):
            with pytest.raises(OSError, match="not a name"):
                act(name)


def test_a_file_that_has_another_name_is_not_written(tree: Path, elsewhere: Path) -> None:
    (tree / "file").hardlink_to(elsewhere / "precious")
    with Directory.at(tree) as directory:
        assert directory.read("file") == b"precious"
        with pytest.raises(OSError, match="hard link"):
            directory.open("file", os.O_WRONLY | os.O_APPEND)


def test_a_directory_stays_the_one_that_was_opened(tree: Path, elsewhere: Path) -> None:
    with Directory.at(tree) as directory:
        tree.rename(tree.with_name("moved"))
        tree.symlink_to(elsewhere)
        directory.create("new", b"x")
    assert (tree.with_name("moved") / "new").exists()
    assert not (elsewhere / "new").exists()


def test_readers_see_the_old_or_the_new_content(tree: Path) -> None:
    with Directory.at(tree) as directory:
        directory.create("file", b"a" * 100_000)
        seen: set[bytes] = set()
        reading = threading.Event()

        def read() -> None:
            reading.set()
            for _ in range(200):
                seen.add(directory.read("file"))

        reader = threading.Thread(target=read)
        reader.start()
        reading.wait()
        for letter in (b"b", b"a") * 20:
            directory.replace("file", letter * 100_000)
        reader.join()
    assert seen <= {b"a" * 100_000, b"b" * 100_000}
    assert [path.name for path in tree.iterdir()] == ["file"]


def test_what_is_made_is_private_and_what_is_to_be_new_is(tree: Path) -> None:
    with Directory.at(tree) as directory:
        directory.create("file")
        directory.make("folder").close()
        directory.make_new("new").close()
        with pytest.raises(FileExistsError):
            directory.make_new("new")
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tree.iterdir()}
    assert modes == {"file": 0o600, "folder": 0o700, "new": 0o700}


# --- whose it is --------------------------------------------------------------------------------------------------


def test_what_is_ours_and_known_by_one_name_passes_and_no_link_does_whatever_its_name(tree: Path) -> None:
    (tree / "file").touch()
    with Directory.at(tree) as directory:
        directory.require_ours({"file", "not there"})
        assert (directory.has("file"), directory.has("not there")) == (True, False)
        (tree / "other").symlink_to("/nowhere")
        assert directory.has("other")
        with pytest.raises(OSError, match="is a link"):
            directory.require_ours({"file"})


def give_away(path: Path, _elsewhere: Path) -> None:
    if os.geteuid():
        pytest.skip("only root can give a file away")
    path.touch()
    os.chown(path, 65534, 65534)


NOT_OURS: dict[str, Callable[[Path, Path], object]] = {
    "link": lambda path, elsewhere: path.symlink_to(elsewhere / "precious"),
    "second name": lambda path, elsewhere: path.hardlink_to(elsewhere / "precious"),
    "pipe": lambda path, _elsewhere: os.mkfifo(path),
    "directory": lambda path, _elsewhere: path.mkdir(),
    "another user": give_away,
}


@pytest.mark.parametrize("kind", NOT_OURS)
def test_what_is_not_ours_alone_is_named_with_the_reason(kind: str, tree: Path, elsewhere: Path) -> None:
    NOT_OURS[kind](tree / "file", elsewhere)
    with Directory.at(tree) as directory, pytest.raises(OSError, match=str(tree / "file")):
        directory.require_ours({"file"})


def test_a_descriptor_that_somebody_else_closes_is_let_go(tree: Path) -> None:
    directory = Directory.at(tree)
    fd = directory.fileno()
    directory.detach()
    directory.close()
    os.close(fd)


def test_a_directory_is_removed_however_deep_it_is(deep: Path) -> None:
    with Directory.at(deep.parent) as folder:
        before = folder.names()
        folder.remove(deep.name)
        assert folder.names() == [name for name in before if name != deep.name]


def test_a_directory_that_cannot_be_moved_is_removed_where_it_is_empty(tree: Path) -> None:
    (tree / "a" / "b").mkdir(parents=True)
    (tree / "a" / "b").chmod(0o500)
    with Directory.at(tree) as folder:
        folder.remove("a")
        assert folder.names() == []


def test_a_hole_ends_where_there_is_data_again_or_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    path.write_bytes(b"begin")
    with path.open("r+b") as file:
        file.seek(1 << 40)
        file.write(b"end")
        file.truncate(1 << 41)
        file.seek(3)
        where = end_of_hole(file.fileno(), 1 << 20)
        assert 1 << 20 < where <= 1 << 40
        assert end_of_hole(file.fileno(), (1 << 40) + (1 << 20)) == 1 << 41
        assert end_of_hole(file.fileno(), 2) == 2
        assert file.tell() == 3


@contextmanager
def as_ordinary_user(*theirs: Path) -> Iterator[None]:
    """Somebody whom the modes of files bind, unlike root; the folders are theirs."""
    if os.geteuid() != 0:
        yield
        return
    for folder in theirs:
        os.chown(folder, NOBODY, -1)
    os.seteuid(NOBODY)
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 1)  # else the kernel hides /proc/self from whoever was root
    try:
        yield
    finally:
        os.seteuid(0)
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 1)


@pytest.mark.parametrize("mode", [0o000, 0o555, 0o300])
def test_a_tree_is_removed_whose_directories_let_nobody_in(tmp_path: Path, mode: int) -> None:
    inner = tmp_path / "tree" / "inner"
    inner.mkdir(parents=True)
    (inner / "file").touch()
    for path in (inner, inner.parent):
        path.chmod(mode)
    with Directory.at(tmp_path) as folder, as_ordinary_user(tmp_path, inner.parent, inner):
        folder.remove("tree")
    assert not (tmp_path / "tree").exists()
