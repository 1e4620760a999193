"""What is kept on disk. The only code that writes journals, takes leases or speaks to SQLite."""

from pi_subagents.store.journal import JOURNAL_FILE, Journal, read_journal
from pi_subagents.store.lease import LEASE_FILE, Lease, is_held
from pi_subagents.store.rundir import META_FILE, RESULT_FILE, RunRecord, publish

__all__ = [
    "JOURNAL_FILE",
    "LEASE_FILE",
    "META_FILE",
    "RESULT_FILE",
    "Journal",
    "Lease",
    "RunRecord",
    "is_held",
    "publish",
    "read_journal",
]
