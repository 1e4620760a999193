"""The way of a task: it is planned, its prompt written, its run prepared, queued, and seen through."""
