"""What is kept on disk. The only code that writes journals, takes leases or speaks to SQLite."""

from pi_subagents.store.control import (
    address_of,
    mark,
    put_address,
    request_stop,
    stop_request,
    take_address_away,
)
from pi_subagents.store.index import Index
from pi_subagents.store.journal import Journal, JournalTail, find_event, read_journal
from pi_subagents.store.lease import Lease, is_held, locks_work
from pi_subagents.store.reading import adopt, load_run
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
    session_of,
    session_runs,
    was_made_here,
)
from pi_subagents.store.removal import disk_size, leftovers, remove_leftover, remove_session, require_removable
from pi_subagents.store.rundir import RunRecord, force_directory, publish
from pi_subagents.store.slots import BackgroundSlots, Pace, Slots, wait_for_file
from pi_subagents.store.tidying import tidying_note

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
    "JournalTail",
    "Lease",
    "Pace",
    "RunRecord",
    "Slots",
    "address_of",
    "adopt",
    "by_session",
    "disk_size",
    "find_event",
    "force_directory",
    "in_order",
    "is_held",
    "is_ours",
    "leftovers",
    "list_runs",
    "load_run",
    "locks_work",
    "mark",
    "obstacle",
    "open_runs",
    "publish",
    "put_address",
    "read_file",
    "read_journal",
    "remove_leftover",
    "remove_session",
    "request_stop",
    "require_removable",
    "session_of",
    "session_runs",
    "stop_request",
    "take_address_away",
    "tidying_note",
    "wait_for_file",
    "was_made_here",
]
