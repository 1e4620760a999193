"""The one door to what was run: found, read, followed, spoken to, deleted."""
