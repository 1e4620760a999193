"""What is kept on disk. The only code that writes journals, takes leases or speaks to SQLite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.lazy import names_from

if TYPE_CHECKING:
    from pi_subagents.store.cleaning import read_matching
    from pi_subagents.store.index import Index
    from pi_subagents.store.lease import Lease, is_held, locks_work
    from pi_subagents.store.process_slots import ProcessSlots, idle_agents
    from pi_subagents.store.reading import adopt, load_run, read_journal
    from pi_subagents.store.record import (
        FOREIGN,
        JOURNAL_FILE,
        LEASE_FILE,
        META_FILE,
        RESULT_FILE,
        TIDY_FILE,
        by_session,
        in_order,
        is_ours,
        list_runs,
        obstacle,
        open_runs,
        read_file,
        request_stop,
        session_of,
        session_runs,
        stop_request,
    )
    from pi_subagents.store.slots import BackgroundSlots, Pace
    from pi_subagents.store.tidying import tidying_note
    from pi_subagents.store.writing import Journal, RunRecord, force_directory, publish

__all__ = [
    "FOREIGN",
    "JOURNAL_FILE",
    "LEASE_FILE",
    "META_FILE",
    "RESULT_FILE",
    "TIDY_FILE",
    "BackgroundSlots",
    "Index",
    "Journal",
    "Lease",
    "Pace",
    "ProcessSlots",
    "RunRecord",
    "adopt",
    "by_session",
    "force_directory",
    "idle_agents",
    "in_order",
    "is_held",
    "is_ours",
    "list_runs",
    "load_run",
    "locks_work",
    "obstacle",
    "open_runs",
    "publish",
    "read_file",
    "read_journal",
    "read_matching",
    "request_stop",
    "session_of",
    "session_runs",
    "stop_request",
    "tidying_note",
]

__getattr__ = names_from(
    __name__,
    {
        "cleaning": "read_matching",
        "index": "Index",
        "lease": "Lease is_held locks_work",
        "process_slots": "ProcessSlots idle_agents",
        "reading": "adopt load_run read_journal",
        "record": (
            "FOREIGN JOURNAL_FILE LEASE_FILE META_FILE RESULT_FILE TIDY_FILE by_session in_order is_ours "
            "list_runs obstacle open_runs read_file request_stop session_of session_runs stop_request"
        ),
        "slots": "BackgroundSlots Pace",
        "tidying": "tidying_note",
        "writing": "Journal RunRecord force_directory publish",
    },
)
