"""The `pi` coding agent: its program, its arguments, its tools, and the two ways to speak to it."""
