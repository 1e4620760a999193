"""The pool of agent processes: a runner on top of a runner."""
