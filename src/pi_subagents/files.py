"""Files and directories that somebody else may have put there.

A directory that was cloned, unpacked or shared can hold links, pipes and devices under any name. What is read here is a
regular file of bounded size, and what is written or deleted is reached from an open directory, by a plain name, without
following a link: nothing that a tree contains can lead out of it. Every refusal is an OSError with a sentence.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Container, Iterable
from contextlib import suppress
from pathlib import Path

MAX_CONFIGURATION_BYTES = 1024 * 1024
"""No settings file, profile or skill that a person wrote comes near it."""

PART_OF_REMOVED = ".gone"
"""How the name of something ends that is being deleted; who finds it later deletes it for good."""

_MAX_DRAFT_CHARACTERS = 50

_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def read_bounded(path: Path, max_bytes: int = MAX_CONFIGURATION_BYTES, *, within: Path | None = None) -> bytes:
    """The content of a regular file, reached through links or not; raises OSError, also for a larger one.

    Links may not lead out of the directory `within`.
    """
    if within is not None and not is_below(path, within):
        raise OSError(errno.ELOOP, f"is a link that points outside {within}", str(path))
    _require_regular(path.stat(), path)  # before opening: a device may act on being opened
    return _read(os.open(path, _READ), path, max_bytes)


def is_below(path: Path, folder: Path) -> bool:
    """Whether a path, with all its links followed, is in a directory; links that lead in a circle lead nowhere."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def distinct(paths: Iterable[Path]) -> list[Path]:
    """Those that lead to different places: of several paths to the same one, the first."""
    found: dict[str, Path] = {}
    for path in paths:
        found.setdefault(os.path.realpath(path), path)
    return list(found.values())


def belongs_to_us(status: os.stat_result) -> bool:
    """Whether the user that we work for owns it."""
    return status.st_uid == os.geteuid()


def draft_name(name: str) -> str:
    """A hidden name for what is to become a file; of a name that is as long as it can be only the beginning fits."""
    return f".{name[:_MAX_DRAFT_CHARACTERS]}.{os.urandom(8).hex()}.new"


class Directory:
    """An open directory. What is in it is named by a single word, and links are refused, not followed.

    `path` is for messages alone: whoever renames the directory, or puts another one in its place, does not mislead us.
    """

    def __init__(self, fd: int, path: Path) -> None:
        self.path = path
        self._fd = fd

    @classmethod
    def at(cls, path: Path) -> Directory:
        """The directory at a path that the user chose, through links or not; raises OSError."""
        return cls(os.open(path, _FOLDER & ~os.O_NOFOLLOW), path)

    def __enter__(self) -> Directory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Harmless when called twice."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def fileno(self) -> int:
        """The open descriptor."""
        return self._fd

    def detach(self) -> None:
        """Forget the descriptor without closing it: somebody else does."""
        self._fd = -1

    def status(self, name: str | None = None) -> os.stat_result:
        """What the directory, or something in it, is: of a link, the link itself. Raises OSError."""
        if name is None:
            return os.fstat(self._fd)
        return os.stat(_word(name), dir_fd=self._fd, follow_symlinks=False)

    def below(self, *names: str) -> Directory:
        """The directory that is reached by these names one after the other; raises OSError."""
        if not names:
            return Directory(os.dup(self._fd), self.path)
        folder = self._step(names[0])
        for name in names[1:]:
            with folder as above:
                folder = above._step(name)
        return folder

    def _step(self, name: str) -> Directory:
        path = self.path / name
        try:
            return Directory(os.open(_word(name), _FOLDER, dir_fd=self._fd), path)
        except OSError as error:
            # Linux says "not a directory" of a link, too, when it is asked for one.
            if error.errno in (errno.ELOOP, errno.ENOTDIR) and _is_link(self.status(name)):
                raise OSError(errno.ELOOP, "is a link, and links are not followed here", str(path)) from None
            raise OSError(error.errno, error.strerror, str(path)) from None

    def open_up(self, name: str) -> None:
        """Let the user into a directory of theirs, whatever its mode says, and no other user; raises OSError."""
        fd = os.open(_word(name), os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._fd)
        try:
            os.chmod(f"/proc/self/fd/{fd}", 0o700)  # noqa: PTH101 - whatever has got the name by now
        finally:
            os.close(fd)

    def make(self, name: str, mode: int = 0o700) -> Directory:
        """The directory of that name, made if it is missing; raises OSError."""
        with suppress(FileExistsError):
            os.mkdir(_word(name), mode, dir_fd=self._fd)
        return self.below(name)

    def make_new(self, name: str) -> Directory:
        """A directory that was not there yet, for the user alone; raises OSError."""
        os.mkdir(_word(name), 0o700, dir_fd=self._fd)
        return self.below(name)

    def names(self) -> list[str]:
        """Everything in it, sorted; raises OSError."""
        return sorted(os.listdir(self._fd))  # noqa: PTH208 - by descriptor

    def has(self, name: str) -> bool:
        """Whether there is anything of that name, if only a link; raises OSError."""
        try:
            self.status(name)
        except FileNotFoundError:
            return False
        return True

    # --- files ----------------------------------------------------------------------------------------------

    def require_ours(self, names: Container[str]) -> None:
        """Raise OSError for any link, and for what has one of these names and could not be opened for writing."""
        with os.scandir(self._fd) as entries:
            for entry in entries:
                if entry.name in names or entry.is_symlink():
                    with suppress(FileNotFoundError):  # gone at this moment
                        status = entry.stat(follow_symlinks=False)
                        _require_regular(status, self.path / entry.name)
                        _require_ours(status, self.path / entry.name)

    def read(self, name: str, max_bytes: int | None = None) -> bytes:
        """The content of a regular file, whoever owns it; raises OSError."""
        return _read(self.open(name, os.O_RDONLY), self.path / name, max_bytes)

    def open(self, name: str, flags: int, mode: int = 0o600) -> int:
        """A descriptor of a regular file; raises OSError.

        For writing it must be the user's own, and known by this name alone: another name may be in another tree.
        """
        path = self.path / name
        if not flags & os.O_CREAT:
            _require_regular(self.status(name), path)
        fd = os.open(
            _word(name), flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, mode, dir_fd=self._fd
        )
        try:
            status = os.fstat(fd)
            _require_regular(status, path)
            if flags & (os.O_WRONLY | os.O_RDWR):
                _require_ours(status, path)
        except OSError:
            os.close(fd)
            raise
        return fd

    def create(self, name: str, content: bytes = b"", *, sync: bool = False, mode: int = 0o600) -> None:
        """Make a file that is not there yet, readable by the user alone unless told otherwise; raises OSError."""
        with os.fdopen(self.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(content)
            file.flush()
            if sync:
                os.fsync(file.fileno())

    def link(self, name: str, target: Path) -> None:
        """Make a symbolic link for others to follow; raises OSError."""
        os.symlink(target, _word(name), dir_fd=self._fd)

    def replace(self, name: str, content: bytes, *, mode: int = 0o600) -> None:
        """Give a file another content at once, so that a reader sees the old or the new one; raises OSError."""
        draft = self.draft(name, content, mode=mode)
        self.rename(draft, name)

    def draft(self, name: str, content: bytes, *, mode: int = 0o600, sync: bool = True) -> str:
        """Write what is to become a file, so that naming it needs no more room; its hidden name. Raises OSError."""
        draft = draft_name(name)
        try:
            self.create(draft, content, sync=sync, mode=mode)
        except OSError:
            with suppress(OSError):
                self.unlink(draft)
            raise
        return draft

    def rename(self, name: str, new_name: str) -> None:
        """Give something in the directory another name, in place of what had it; raises OSError."""
        os.replace(_word(name), _word(new_name), src_dir_fd=self._fd, dst_dir_fd=self._fd)

    def unlink(self, name: str) -> None:
        """Delete a file, or a link and not what it leads to; raises OSError, but not for what is gone already."""
        with suppress(FileNotFoundError):
            os.unlink(_word(name), dir_fd=self._fd)

    def remove(self, name: str) -> None:
        """Delete whatever has the name: of a directory all that is in it, of a link the link. Raises OSError."""
        with suppress(FileNotFoundError):
            if stat.S_ISDIR(self.status(name).st_mode):
                self._remove_tree(name)
            else:
                self.unlink(name)

    def _remove_tree(self, name: str) -> None:
        """Delete a directory level by level: nobody knows how deep it is, and stack and descriptors are not endless.

        What is in it is moved up here first, under a name by which an unfinished removal can be told.
        """
        self.open_up(name)
        left = [name]
        while left:
            latest = left.pop()
            with self.below(latest) as folder:
                for inner in folder.names():
                    if not stat.S_ISDIR(folder.status(inner).st_mode):
                        folder.unlink(inner)
                        continue
                    try:
                        os.rmdir(inner, dir_fd=folder._fd)  # also one that could not be moved
                    except OSError:
                        folder.open_up(inner)
                        left.append(f".{os.urandom(8).hex()}{PART_OF_REMOVED}")
                        os.rename(inner, left[-1], src_dir_fd=folder._fd, dst_dir_fd=self._fd)
            os.rmdir(latest, dir_fd=self._fd)

    def require_regular(self, name: str) -> os.stat_result | None:
        """What a regular file of that name is, None if nothing has it; raises OSError for a link or anything else."""
        try:
            status = self.status(name)
        except FileNotFoundError:
            return None
        _require_regular(status, self.path / name)
        return status

    def sync_file(self, name: str) -> None:
        """Make what a file holds survive a power cut; raises OSError."""
        fd = self.open(name, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def sync(self) -> None:
        """Make what the directory lists survive a power cut; raises OSError."""
        os.fsync(self._fd)


def is_word(name: str) -> bool:
    """Whether it can be the name of something in a directory, and leads nowhere else."""
    return bool(name) and name not in (".", "..") and "/" not in name and "\0" not in name


def _word(name: str) -> str:
    if not is_word(name):
        raise OSError(errno.EINVAL, "is not a name in this directory", name)
    return name


def _is_link(status: os.stat_result) -> bool:
    return stat.S_ISLNK(status.st_mode)


def _require_regular(status: os.stat_result, path: Path) -> None:
    if _is_link(status):
        raise OSError(errno.ELOOP, "is a link, and links are not followed here", str(path))
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "is not a regular file", str(path))


def _require_ours(status: os.stat_result, path: Path) -> None:
    if not belongs_to_us(status):
        raise PermissionError(errno.EPERM, "belongs to another user", str(path))
    if status.st_nlink > 1:
        raise PermissionError(errno.EPERM, "has a hard link elsewhere", str(path))


def _read(fd: int, path: Path, max_bytes: int | None) -> bytes:
    with os.fdopen(fd, "rb") as file:
        _require_regular(os.fstat(fd), path)
        if max_bytes is None:
            return file.read()
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise OSError(errno.EFBIG, f"is larger than {max_bytes:,} bytes", str(path))
    return data


def end_of_hole(fd: int, position: int) -> int:
    """Where there is data again from `position` on, or the end of the file.

    A hole costs nobody anything to make, and whoever reads its zeros is busy for hours.
    """
    stands_at = os.lseek(fd, 0, os.SEEK_CUR)
    try:
        return os.lseek(fd, position, os.SEEK_DATA)
    except OSError as error:
        # ENXIO: there is none; anything else: this file system does not know its holes.
        return max(position, os.fstat(fd).st_size) if error.errno == errno.ENXIO else position
    finally:
        os.lseek(fd, stands_at, os.SEEK_SET)
