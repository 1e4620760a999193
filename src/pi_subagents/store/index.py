"""A list of all runs across projects, for quick look-ups. Derived: it can be lost and made again from the disk.

Whatever is wrong with it (corrupt, locked, read-only, missing) costs a warning and a slower look-up, never a run.
"""

from __future__ import annotations

import json
import logging
import math
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from pi_subagents.clock import LAST_MS
from pi_subagents.errors import StoreError
from pi_subagents.files import Directory, read_bounded
from pi_subagents.fold import RunState
from pi_subagents.models import Status
from pi_subagents.paths import project_of, runs_dir
from pi_subagents.store.reading import load_run
from pi_subagents.store.record import list_runs, session_of

T = TypeVar("T")

_BUSY_S = 2.0
"""How long to wait for another process that writes at this moment."""

_MAX_LIST_BYTES = 8 * 1024 * 1024
"""Some ten thousand projects."""

_PLACE = ("run_id", "session_id", "project", "run_dir")
_TEXTS = ("name", "profile", "preset", "status", "reason", "error", "provider", "model", "owner", "harness")
_TIMES = ("created_at", "started_at", "completed_at")
_COUNTS = ("tokens", "tool_count", "message_count", "background", "damaged", "knows_cost")
_COLUMNS = (*_PLACE, *_TEXTS, *_TIMES, *_COUNTS, "cost")
_KNOWN_AT_ONCE = ("run_id", "session_id", "name", "profile", "preset", "created_at", "completed_at", "owner", "harness")
_KNOWN_AT_THE_END = ("error", "provider", "model", "started_at", "tool_count", "message_count")
_UPSERT = f"INSERT OR REPLACE INTO runs ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"

_RUN_ID = f"{'[0-9]' * 8}T{'[0-9]' * 9}-{'[0-9a-f]' * 16}"
_NAMES_A_RUN = f"typeof({{0}}.run_id) = 'text' AND {{0}}.run_id GLOB '{_RUN_ID}'"
_IS_LATEST = f"""NOT EXISTS (
    SELECT 1 FROM runs AS later
    WHERE later.session_id = runs.session_id AND later.project = runs.project AND later.run_id > runs.run_id
    AND {_NAMES_A_RUN.format("later")} AND later.run_id GLOB '*-' || later.session_id
)"""

_log = logging.getLogger(__name__)


class Index:
    """The index under one agent directory."""

    def __init__(self, agent_dir: Path) -> None:
        self._folder = agent_dir / "subagents"
        self.path = self._folder / "index.sqlite3"
        self._projects = self._folder / "projects.jsonl"

    # --- writing ------------------------------------------------------------------------------------------

    def record(self, project: Path, runs: Mapping[Path, RunState]) -> None:
        """Take note of runs of a project, by their directories, as they are now; problems are logged, not raised."""
        rows = [_row(state, run_dir, project) for run_dir, state in runs.items()]
        self._attempt(lambda connection: connection.executemany(_UPSERT, rows), None, project=project)

    def forget(self, run_dirs: Iterable[Path]) -> None:
        """Take runs out that were deleted; problems are logged, not raised."""
        gone = [tuple(map(_to_sql, (folder.name, str(folder), str(project_of(folder))))) for folder in run_dirs]
        delete = "DELETE FROM runs WHERE run_id = ? AND (run_dir = ? OR project = ?)"
        self._attempt(lambda connection: connection.executemany(delete, gone), None)

    def rebuild(self, report: Callable[[Path, int], None] | None = None) -> int:
        """Make the index anew from the run directories of all known projects; how many runs it has. Raises StoreError.

        `report` is told each project and its number of runs. What others record meanwhile is kept.
        """
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with closing(_connect(self.path)) as connection:
                return self._refill(connection, report)
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"cannot rebuild the index {self.path}: {error}") from error

    def _refill(self, connection: sqlite3.Connection, report: Callable[[Path, int], None] | None = None) -> int:
        before = connection.execute("SELECT rowid FROM runs").fetchall()
        rows: list[list[Any]] = []
        for project in self.projects():
            found = list(_rows_on_disk(project))
            rows += found
            if report is not None:
                report(project, len(found))
        with _transaction(connection):
            connection.executemany("DELETE FROM runs WHERE rowid = ?", before)
            connection.executemany(_UPSERT, rows)
        return len(rows)

    # --- reading ------------------------------------------------------------------------------------------

    def is_usable(self) -> bool:
        """Whether the index can be asked; where it cannot, only the disk can."""
        return self._attempt(lambda _connection: True, False)

    def session(self, session_id: str) -> list[Path]:
        """The run directories of a session that the index knows of, oldest first."""
        return [Path(row["run_dir"]) for row in reversed(self.rows("session_id = ?", [session_id]))]

    def rows(self, where: str = "1", parameters: Iterable[Any] = (), *, limit: int = -1) -> list[dict[str, Any]]:
        """Rows by newest first; columns as in the schema.

        A row that cannot be true has no more than its place, and no status: only the journal can say it.
        """
        query = f"""
            SELECT * FROM runs WHERE {_NAMES_A_RUN.format("runs")} AND ({where})
            ORDER BY run_id DESC, project DESC LIMIT ?"""

        def ask(connection: sqlite3.Connection) -> list[dict[str, Any]]:
            connection.row_factory = sqlite3.Row
            connection.text_factory = bytes
            rows = connection.execute(query, [*map(_to_sql, parameters), limit])
            told = ({name: _from_sql(row[name]) for name in _COLUMNS} for row in rows)
            return [_as_far_as_true(row) for row in told if _is_path(row["project"])]

        return self._attempt(ask, [])

    def sessions(self, where: str = "1", parameters: Iterable[Any] = (), *, limit: int = -1) -> list[dict[str, Any]]:
        """The latest run of each session of each project, newest first.

        The conditions are on that latest run. Rows are found along the primary key, so a limit keeps this quick.
        """
        return self.rows(f"{_IS_LATEST} AND ({where})", parameters, limit=limit)

    def projects(self) -> list[Path]:
        """Every project that ever had a run, in the order they appeared; those that are gone are left out."""
        with suppress(OSError):
            return [project for project in _projects_in(self._read_projects()) if _is_directory(project)]
        return []

    def _read_projects(self) -> bytes:
        with suppress(FileNotFoundError):
            return read_bounded(self._projects, _MAX_LIST_BYTES)
        return b""

    # --- inside -------------------------------------------------------------------------------------------

    def _attempt(self, work: Callable[[sqlite3.Connection], T], otherwise: T, *, project: Path | None = None) -> T:
        """Do `work` on the index, rebuilding it once if it is damaged; `otherwise` where it cannot be used."""
        for damaged_before in (False, True):
            try:
                known = self._make_ready(project)
                with closing(_connect(self.path)) as connection:
                    if _pragma(connection, "application_id") == 0:
                        if known:
                            self._refill(connection)
                        # From now on it has what was on the disk when it was made.
                        connection.execute("PRAGMA application_id = 1")
                    with _transaction(connection):
                        return work(connection)
            except (sqlite3.Error, OSError) as error:
                if damaged_before or not _is_damage(error) or not self._put_aside(error):
                    _log.warning("the index of runs cannot be used (%s)", error)
                    break
        return otherwise

    def _make_ready(self, project: Path | None) -> bool:
        """Whether there were runs before, so that an index without any has lost them."""
        known = self._projects.exists()
        self._folder.mkdir(parents=True, exist_ok=True)
        if project is not None:
            # The list of projects comes first: from it a lost index is made again.
            self._remember_project(project)
        return known

    def _put_aside(self, problem: Exception) -> bool:
        _log.warning("the index of runs is damaged (%s) and is being rebuilt", problem)
        try:
            self.path.replace(self.path.with_suffix(f".damaged-{time.time_ns()}"))
            for suffix in ("-wal", "-shm"):
                self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
            self.rebuild()
        except (OSError, StoreError) as error:
            _log.warning("%s", error)
            return False
        return True

    def _remember_project(self, project: Path) -> None:
        known = self._read_projects()
        if project in _projects_in(known):
            return
        line = json.dumps(str(project)).encode() + b"\n"
        with Directory.at(self._folder) as folder:
            fd = folder.open(self._projects.name, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        with os.fdopen(fd, "ab", buffering=0) as file:
            file.write(line if known.endswith(b"\n") or not known else b"\n" + line)


def _projects_in(lines: bytes) -> dict[Path, None]:
    """What a list of projects names; lines that cannot be read are left out."""
    found: dict[Path, None] = {}
    for line in lines.splitlines():
        with suppress(ValueError, TypeError, RecursionError):
            project = Path(json.loads(line))
            if project.is_absolute():
                found[project] = None
    return found


def _is_directory(path: Path) -> bool:
    with suppress(OSError, ValueError):  # no name that there could be
        return path.is_dir()
    return False


# --- the database -----------------------------------------------------------------------------------------------

MIGRATIONS: Sequence[str] = (
    # 1: one row per run; what is not final has no status here, because only its journal can say it.
    """
    CREATE TABLE runs (
        run_id TEXT PRIMARY KEY, session_id TEXT NOT NULL, project TEXT NOT NULL, run_dir TEXT NOT NULL,
        name TEXT NOT NULL, profile TEXT, status TEXT, reason TEXT, error TEXT, provider TEXT, model TEXT,
        created_at INTEGER, started_at INTEGER, completed_at INTEGER,
        tokens INTEGER, cost REAL, tool_count INTEGER, message_count INTEGER
    );
    CREATE INDEX runs_by_session ON runs (session_id);
    CREATE INDEX runs_by_time ON runs (created_at);
    """,
    # 2: background runs are listed by their owner.
    """
    ALTER TABLE runs ADD COLUMN background INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE runs ADD COLUMN owner TEXT;
    CREATE INDEX runs_in_background ON runs (background, project)
    """,
    # 3: of a run whose journal cannot be true people are told so, in lists too.
    "ALTER TABLE runs ADD COLUMN damaged INTEGER NOT NULL DEFAULT 0",
    # 4: projects can have runs of the same id, as copies of each other do.
    """
    ALTER TABLE runs RENAME TO runs_by_id;
    CREATE TABLE runs (
        run_id TEXT NOT NULL, project TEXT NOT NULL, session_id TEXT NOT NULL, run_dir TEXT NOT NULL,
        name TEXT NOT NULL, profile TEXT, status TEXT, reason TEXT, error TEXT, provider TEXT, model TEXT,
        created_at INTEGER, started_at INTEGER, completed_at INTEGER,
        tokens INTEGER, cost REAL, tool_count INTEGER, message_count INTEGER,
        background INTEGER NOT NULL DEFAULT 0, owner TEXT, damaged INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (run_id, project)
    );
    INSERT INTO runs
        SELECT run_id, project, session_id, run_dir, name, profile, status, reason, error, provider, model, created_at,
        started_at, completed_at, tokens, cost, tool_count, message_count, background, owner, damaged FROM runs_by_id;
    DROP TABLE runs_by_id;
    CREATE INDEX runs_by_session ON runs (session_id, project, run_id);
    CREATE INDEX runs_by_time ON runs (created_at);
    CREATE INDEX runs_in_background ON runs (background, project)
    """,
    # 5: lists name the agent, be it a profile or a preset. Runs without a profile may have had a preset: only their
    # journals can say it, as with those that are not final.
    """
    ALTER TABLE runs ADD COLUMN preset TEXT;
    UPDATE runs SET status = NULL WHERE profile IS NULL
    """,
    # 6: lists name agents other than `pi`, and say whose cost is not known; until now there was only `pi`.
    """
    ALTER TABLE runs ADD COLUMN harness TEXT;
    ALTER TABLE runs ADD COLUMN knows_cost INTEGER NOT NULL DEFAULT 1
    """,
)
"""The schema, as the numbered steps that lead to it. Steps are only ever added."""


def migrate(connection: sqlite3.Connection, steps: Sequence[str] = MIGRATIONS) -> None:
    """Bring a database of any released schema, or an empty one, up to date in one transaction."""
    if _pragma(connection, "user_version") >= len(steps):
        return
    with _transaction(connection):
        for number in range(_pragma(connection, "user_version"), len(steps)):
            for statement in steps[number].split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number + 1}")


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _connect(path: Path) -> sqlite3.Connection:
    if not path.exists():
        path.touch(mode=0o600)
    connection = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None)
    try:
        _choose_wal(connection)
        # The index can be rebuilt: a power cut may cost its last rows, not its integrity.
        connection.execute("PRAGMA synchronous = NORMAL")
        migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _choose_wal(connection: sqlite3.Connection) -> None:
    # While somebody else makes this very change, SQLite gives up at once instead of waiting.
    deadline = time.monotonic() + _BUSY_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    # After an exception the connection is closed, which undoes it.
    connection.execute("BEGIN IMMEDIATE")
    yield
    connection.execute("COMMIT")


def _is_damage(error: Exception) -> bool:
    # Operational errors are locks, permissions and full disks: a new file would not help.
    return isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError)


def _rows_on_disk(project: Path) -> Iterator[list[Any]]:
    for run_dir in list_runs(runs_dir(project)):
        with suppress(StoreError):
            yield _row(load_run(run_dir), run_dir, project)


def _row(state: RunState, run_dir: Path, project: Path) -> list[Any]:
    values = {name: getattr(state, name) for name in _KNOWN_AT_ONCE}
    values |= {"project": str(project), "run_dir": str(run_dir)}
    values |= {"background": int(state.background), "damaged": int(state.is_damaged)}
    values |= {"knows_cost": int(state.knows_cost)}
    if state.status.is_terminal:
        values |= {name: getattr(state, name) for name in _KNOWN_AT_THE_END}
        values |= {"status": state.status.value, "reason": state.reason.value if state.reason else None}
        values |= {"tokens": state.usage.total_tokens if state.knows_tokens else None, "cost": state.usage.cost}
    return [_to_sql(values.get(name)) for name in _COLUMNS]


def _as_far_as_true(row: dict[str, Any]) -> dict[str, Any]:
    folder = Path(row["run_dir"]) if _is_path(row["run_dir"]) else Path()
    if folder != runs_dir(Path(*folder.parts[:-4])) / row["run_id"]:
        folder = runs_dir(Path(row["project"])) / row["run_id"]
    place = {**row, "run_dir": str(folder), "session_id": session_of(folder)}
    return place if _can_be_true(row) else {**place, **dict.fromkeys(row.keys() - _PLACE), "name": ""}


def _can_be_true(row: Mapping[str, Any]) -> bool:
    cost = row["cost"]
    return (
        isinstance(row["name"], str)
        and all(isinstance(row[name], str | None) for name in _TEXTS)
        and all(_is_between(row[name], 0, LAST_MS) for name in _TIMES)
        and all(_is_between(row[name], 0, math.inf) for name in _COUNTS)
        and (cost is None or (isinstance(cost, float) and 0 <= cost < math.inf))
        and row["status"] not in (Status.QUEUED, Status.RUNNING)
    )


def _is_between(value: Any, least: int, most: float) -> bool:
    return value is None or (isinstance(value, int) and least <= value <= most)


def _is_path(text: Any) -> bool:
    """Whether a text can be the path of something."""
    try:
        return isinstance(text, str) and Path(text).is_absolute() and b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def _to_sql(value: Any) -> Any:
    """Texts in the database are UTF-8; one that is not, such as a path in an old encoding, is kept as bytes."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return value.encode("utf-8", "surrogatepass")
    return value


def _from_sql(value: Any) -> Any:
    """The value as it was written; bytes that were never a text stay bytes."""
    with suppress(UnicodeDecodeError):
        return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value
    return value
