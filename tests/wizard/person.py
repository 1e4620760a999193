"""Somebody who answers the wizard's questions, and a desk with profiles to work on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pi_subagents.place import Place
from pi_subagents.profiles import Scope, invalidate_profiles_cache
from pi_subagents.wizard import Cancelled, Host, Level

AS_IT_STANDS = "<the text that was there already>"
ESC = "<Esc>"


@dataclass
class Question:
    """What somebody was asked."""

    kind: str
    title: str
    options: list[str] = field(default_factory=list)
    message: str = ""
    initial: str = ""


class Person:
    """Answers by what a title contains, one answer after the other, and presses Enter at every other question.

    `leaves_at` is the number of the question at which the person has had enough.
    """

    def __init__(self, answers: Mapping[str, Any] | None = None, *, leaves_at: int | None = None) -> None:
        self.asked: list[Question] = []
        self.told: list[tuple[Level, str]] = []
        self._leaves_at = leaves_at
        self._answers = {
            title: list(answer) if isinstance(answer, list) else [answer] for title, answer in (answers or {}).items()
        }

    def answers(self, title: str, *answers: Any) -> None:
        """Have further answers ready."""
        self._answers.setdefault(title, []).extend(answers)

    @property
    def titles(self) -> list[str]:
        return [question.title for question in self.asked]

    @property
    def words(self) -> str:
        """Everything that was on the screen."""
        asked = [f"{q.title}{q.options}{q.message}{q.initial}" for q in self.asked]
        return "\n".join([*asked, *(text for _, text in self.told)])

    def messages(self, level: Level) -> list[str]:
        return [text for found, text in self.told if found == level]

    def question(self, title: str) -> Question:
        """The last question with such a title."""
        return [question for question in self.asked if title in question.title][-1]

    async def select(self, title: str, options: Sequence[str], *, initial: str | None = None) -> str | None:
        assert initial is None or initial in options
        assert len(set(options)) == len(options)
        answer = self._answer(Question("select", title, list(options), initial=initial or ""))
        if answer == ESC:
            return None
        if answer is None:
            return initial or options[0]
        word = {True: "Yes", False: "No"}.get(answer, answer)
        return next(option for option in options if option.startswith(word))

    async def confirm(self, title: str, message: str) -> bool:
        return self._answer(Question("confirm", title, message=message)) is True

    async def input(self, title: str, placeholder: str = "", *, initial: str = "", enter: str = "skips") -> str | None:
        answer: str | None = self._answer(Question("input", title, initial=initial))
        return self._typed(answer, initial)

    async def editor(self, title: str, prefill: str = "") -> str | None:
        answer: str | None = self._answer(Question("editor", title, initial=prefill))
        return self._typed(answer, f"{prefill}\n")

    async def notify(self, message: str, level: Level = "info") -> None:
        self.told.append((level, message))

    def _typed(self, answer: str | None, there: str) -> str | None:
        if answer == ESC:
            return None
        return there if answer in (AS_IT_STANDS, None) else answer

    def _answer(self, question: Question) -> Any:
        self.asked.append(question)
        if len(self.asked) - 1 == self._leaves_at:
            raise Cancelled
        for words, answers in self._answers.items():
            if words in question.title and answers:
                answer = answers.pop(0)
                return answer() if callable(answer) else answer
        return None


class Desk:
    """A project and a home directory."""

    def __init__(self, root: Path) -> None:
        invalidate_profiles_cache()
        self.project = root / "project"
        self.agent_dir = root / "agent"
        (self.project / ".pi").mkdir(parents=True)
        self.place = Place.here(self.project, {"PI_AGENT_DIR": str(self.agent_dir)})
        self.host = Host(self.place)

    def path(self, name: str, scope: Scope = "project") -> Path:
        base = self.agent_dir if scope == "global" else self.project / ".pi"
        return base / "agent-profiles" / f"{name}.md"

    def write(self, name: str, text: str, scope: Scope = "project") -> Path:
        path = self.path(name, scope)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        invalidate_profiles_cache()
        return path

    def files(self) -> dict[str, tuple[bytes, int]]:
        """Every file with its content and the time of its last change."""
        folders = (self.project, self.agent_dir)
        paths = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
        return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in paths}
