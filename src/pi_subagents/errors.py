"""The exceptions a caller can see.

    PiSubagentsError
    ├── InvalidCall        the arguments of a call are wrong; nothing was started
    │   └── NothingStarted  things that tasks name are missing: all of them
    ├── ProfileError       a profile file is broken or contradicts itself
    ├── SettingsError      a settings value cannot be used
    ├── AgentNotFound      no agent program (`pi`) was found
    ├── InstallError       bringing the agent program failed
    ├── ClientConfigError  another program's configuration cannot be changed
    ├── SessionNotFound    no session has that id
    ├── AmbiguousId        what was given begins several ids
    ├── SessionBusy        the session is still running
    └── StoreError         a run's record could not be written or read

What an agent does wrong is never an exception: it is the recorded outcome of its run.
"""

from __future__ import annotations

from collections.abc import Sequence


class PiSubagentsError(Exception):
    """Root of every error this package raises on purpose; its text is written for people.

    `advice` is what they can do about it, where that is a sentence of its own.
    """

    def __init__(self, sentence: str = "", *, advice: str = "") -> None:
        super().__init__(sentence)
        self.advice = advice


def with_advice(error: Exception) -> str:
    """What is wrong and, in the next line, what can be done about it, if that is known."""
    return f"{error}\n{getattr(error, 'advice', '')}".rstrip()


class InvalidCall(PiSubagentsError):  # noqa: N818 - reads as a sentence where it is raised
    """A caller's mistake, found before anything was started."""


class NothingStarted(InvalidCall):
    """What tasks name is not there; nothing was started, and nothing recorded."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        lines = "".join(f"\n  {problem}" for problem in problems)
        super().__init__(problems[0] if len(problems) == 1 else f"nothing was started:{lines}")


class ProfileError(InvalidCall):
    """A profile that cannot be used; the text names the file and line where it is known."""


class SettingsError(PiSubagentsError):
    """A setting that cannot be used; the text names the file."""


class AgentNotFound(PiSubagentsError):  # noqa: N818
    """No agent program was found in any of the documented places."""


class InstallError(PiSubagentsError):
    """Bringing the agent program failed; the text says what to do next, and `npm_code` what npm calls it."""

    def __init__(self, sentence: str, npm_code: str | None = None) -> None:
        super().__init__(sentence)
        self.npm_code = npm_code


class ClientConfigError(PiSubagentsError):
    """The configuration file of another program cannot be changed; it was left as it is."""


class SessionNotFound(PiSubagentsError):  # noqa: N818
    """No session has the given id."""


class AmbiguousId(InvalidCall):
    """What was given begins several ids; the text lists them, one to a line."""


class SessionBusy(InvalidCall):
    """The session is still running and cannot be resumed yet."""


class StoreError(PiSubagentsError):
    """A run's record could not be written or read back."""
