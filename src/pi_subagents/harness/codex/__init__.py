"""OpenAI's Codex, through its `app-server`."""
