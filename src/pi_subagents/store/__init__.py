"""What is kept on disk. The only code that writes journals, takes leases or speaks to SQLite."""

from pi_subagents.store.control import request_stop, stop_request
from pi_subagents.store.index import Index
from pi_subagents.store.journal import JOURNAL_FILE, Journal, read_journal
from pi_subagents.store.lease import LEASE_FILE, Lease, is_held
from pi_subagents.store.reading import list_runs, load_run, read_file, session_runs
from pi_subagents.store.rundir import META_FILE, RESULT_FILE, RunRecord, publish

__all__ = [
    "JOURNAL_FILE",
    "LEASE_FILE",
    "META_FILE",
    "RESULT_FILE",
    "Index",
    "Journal",
    "Lease",
    "RunRecord",
    "is_held",
    "list_runs",
    "load_run",
    "publish",
    "read_file",
    "read_journal",
    "request_stop",
    "session_runs",
    "stop_request",
]
