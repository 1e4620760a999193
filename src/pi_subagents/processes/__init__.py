"""Processes that are no agents, and the signals that reach us; nothing else but `runners/` starts or signals any."""
