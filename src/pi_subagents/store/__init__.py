"""What is kept on disk. The only code that writes journals, takes leases or speaks to SQLite."""

from pi_subagents.store.control import request_stop, stop_request
from pi_subagents.store.index import Index
from pi_subagents.store.journal import JOURNAL_FILE, Journal, read_journal
from pi_subagents.store.lease import LEASE_FILE, Lease, is_held
from pi_subagents.store.pace import Pace
from pi_subagents.store.reading import adopt, list_runs, load_run, read_file, session_runs
from pi_subagents.store.removal import disk_size, leftovers, remove_leftover, remove_session
from pi_subagents.store.rundir import META_FILE, RESULT_FILE, RunRecord, force_directory, publish
from pi_subagents.store.slots import Places, Slots, wait_for_file
from pi_subagents.store.tail import JournalTail

__all__ = [
    "JOURNAL_FILE",
    "LEASE_FILE",
    "META_FILE",
    "RESULT_FILE",
    "Index",
    "Journal",
    "JournalTail",
    "Lease",
    "Pace",
    "Places",
    "RunRecord",
    "Slots",
    "adopt",
    "disk_size",
    "force_directory",
    "is_held",
    "leftovers",
    "list_runs",
    "load_run",
    "publish",
    "read_file",
    "read_journal",
    "remove_leftover",
    "remove_session",
    "request_stop",
    "session_runs",
    "stop_request",
    "wait_for_file",
]
