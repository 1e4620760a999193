"""The one way to what was run: found, read, followed, spoken to, deleted."""
