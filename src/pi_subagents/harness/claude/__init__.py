"""Claude Code, spoken to in its own protocol."""
