"""pi's dialogs, asked for over the wire."""

from __future__ import annotations

from collections.abc import Sequence

from pi_subagents.surfaces.bridge.messages import Params, Refusal
from pi_subagents.surfaces.bridge.peer import HungUp, Peer
from pi_subagents.text.harmless import clean
from pi_subagents.wizard import Cancelled, Level


class PiDialogs:
    """What the wizard asks the person in front of pi."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def select(self, title: str, options: Sequence[str], *, initial: str | None = None) -> str | None:
        """One of the options. pi begins with the first, so that is where the usual answer goes."""
        shown = {clean(option): option for option in sorted(options, key=lambda option: option != initial)}
        answer = await self._ask("dialog/select", {"title": title, "options": list(shown)})
        return shown.get(answer) if isinstance(answer, str) else None

    async def confirm(self, title: str, message: str) -> bool:
        """Yes or no."""
        return await self._ask("dialog/confirm", {"title": title, "message": message}) is True

    async def input(self, title: str, placeholder: str = "", *, initial: str = "", enter: str = "skips") -> str | None:
        """A line; where something stands there already, in pi's editor, which can begin with it."""
        if initial:
            text = await self.editor(title, initial)
            return None if text is None else " ".join(text.split("\n")).strip()
        answer = await self._ask("dialog/input", {"title": title, "placeholder": placeholder})
        return answer if isinstance(answer, str) else None

    async def editor(self, title: str, prefill: str = "") -> str | None:
        """A text."""
        answer = await self._ask("dialog/editor", {"title": title, "text": prefill})
        return answer if isinstance(answer, str) else None

    async def notify(self, message: str, level: Level = "info") -> None:
        """Tell the person something."""
        self._peer.notify("ui/notify", {"message": message, "level": level})

    async def _ask(self, method: str, params: Params) -> object:
        try:
            answer: object = await self._peer.request(method, params)
        except (HungUp, Refusal) as gone:
            raise Cancelled from gone
        return answer
