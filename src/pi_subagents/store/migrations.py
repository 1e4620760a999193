"""The schema of the index, as the numbered steps that lead to it. Steps are only ever added."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

MIGRATIONS: Sequence[str] = (
    # 1: one row per run; what is not final has no status here, because only its journal can say it.
    """
    CREATE TABLE runs (
        run_id TEXT PRIMARY KEY,
        session_id TEXT NOT NULL,
        project TEXT NOT NULL,
        run_dir TEXT NOT NULL,
        name TEXT NOT NULL,
        profile TEXT,
        status TEXT,
        reason TEXT,
        error TEXT,
        provider TEXT,
        model TEXT,
        created_at INTEGER,
        started_at INTEGER,
        completed_at INTEGER,
        tokens INTEGER,
        cost REAL,
        tool_count INTEGER,
        message_count INTEGER
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
        run_id TEXT NOT NULL,
        project TEXT NOT NULL,
        session_id TEXT NOT NULL,
        run_dir TEXT NOT NULL,
        name TEXT NOT NULL,
        profile TEXT,
        status TEXT,
        reason TEXT,
        error TEXT,
        provider TEXT,
        model TEXT,
        created_at INTEGER,
        started_at INTEGER,
        completed_at INTEGER,
        tokens INTEGER,
        cost REAL,
        tool_count INTEGER,
        message_count INTEGER,
        background INTEGER NOT NULL DEFAULT 0,
        owner TEXT,
        damaged INTEGER NOT NULL DEFAULT 0,
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
)


def migrate(connection: sqlite3.Connection, steps: Sequence[str] = MIGRATIONS) -> None:
    """Bring a database of any released schema, or an empty one, up to date in one transaction."""
    if _version(connection) >= len(steps):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for number in range(_version(connection), len(steps)):
            for statement in steps[number].split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number + 1}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
