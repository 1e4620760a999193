"""What a program leaves in the folders that everybody on the machine may write to.

It gets empty ones in their place, with only those entries that it needs to run: what comes there is its doing and
nobody else's. Where the system does not allow that, whatever comes and has the agent's name counts as the agent's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pi_subagents.processes.query import ask

_SHARED = (Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"))
_AS_ROOT = ("unshare", "--mount", "--propagation", "private")
_AS_USER = (*_AS_ROOT, "--user", "--map-current-user", "--keep-caps")
_MOUNT_AND_START = 'while [ "$1" != -- ]; do mount --rbind "$1" "$2" || exit; shift 2; done; shift; exec "$@"'
_PATIENCE_S = 10.0


class SharedFolders:
    """They as one program finds them, which is started with `wrap`; what replaces them is made below `root`."""

    def __init__(self, root: Path, agent: str, needed: Iterable[Path], environ: Mapping[str, str]) -> None:
        self._root = root
        self._agent = agent
        self._shared = [folder for folder in _SHARED if folder.is_dir()]
        self._kept = _tops_of([root, *needed])
        for folder in (*self._shared, *self._kept):
            self._in_place_of(folder).mkdir(parents=True, exist_ok=True)
        self._wrapper: list[str] = next(
            (
                wrapper
                for wrapper in map(self._mounting, (_AS_ROOT, _AS_USER))
                if ask([*wrapper, "true"], environ=environ, timeout_s=_PATIENCE_S).ok
            ),
            [],
        )
        self._before = self._entries()

    def wrap(self, argv: Sequence[str]) -> list[str]:
        """The command line that starts the program with folders of its own, where that is possible."""
        return [*self._wrapper, *argv]

    def left(self) -> set[Path]:
        """What has come, with the path that the program knows it by."""
        return self._entries() - self._before

    def _mounting(self, own_mounts: Sequence[str]) -> list[str]:
        # First what is to stay is put into the new folders, then they are put over the old ones.
        mounts = [(kept, self._in_place_of(kept)) for kept in self._kept]
        mounts += [(self._in_place_of(folder), folder) for folder in self._shared]
        words = [str(path) for pair in mounts for path in pair]
        return [*own_mounts, "sh", "-c", _MOUNT_AND_START, "sh", *words, "--"]

    def _entries(self) -> set[Path]:
        if self._wrapper:
            return {Path("/") / path.relative_to(self._root) for path in self._root.rglob("*")}
        return {path for folder in self._shared for path in folder.iterdir() if self._agent in path.name}

    def _in_place_of(self, folder: Path) -> Path:
        return self._root / folder.relative_to("/")


def _tops_of(needed: Iterable[Path]) -> set[Path]:
    """The directories right in the shared folders that have something which is needed."""
    ways = ((folder, path.resolve()) for path in needed for folder in _SHARED)
    tops = {folder / path.relative_to(folder).parts[0] for folder, path in ways if folder in path.parents}
    return {top for top in tops if top.is_dir()}
