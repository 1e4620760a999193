"""Hostile records as data: run directories that came with a project, or that somebody else made.

Each is laid out in `.pi/subagents/runs` beside a run of the victim's own. A *foreign* record is none of ours: it holds
a link, a pipe, or something that belongs to somebody else. It may be listed, and is never changed. An *odd* one is made
of regular files, and its journal says what none of ours would.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.security.kit import ESCAPE
from tests.security.things import (
    ENDED,
    NEIGHBOUR,
    NEIGHBOUR_SESSION,
    OTHER_LOST_RUN,
    OTHER_RUN,
    OTHER_SESSION,
    RUNS,
    STARTED,
    STRANGER,
    Folder,
    HardLink,
    Link,
    Pipe,
    Text,
    Thing,
    created,
    finished,
    lines,
    says,
    unfinished,
)

SESSION = "bad0000000000001"
RUN = f"20260105T000000000-{SESSION}"
"""The session and the run of every hostile record, unless its name is part of the attack."""


@dataclass(frozen=True)
class HostileRecord:
    """What lies in the run directory, and beside it in `runs`; with `link` the directory itself is one."""

    name: str
    files: Mapping[str, Thing] = field(default_factory=dict)
    beside: Mapping[str, Thing] = field(default_factory=dict)
    run: str = RUN
    link: Link | None = None
    owner: int | None = None

    @property
    def table(self) -> dict[str, Thing]:
        """Everything of it, by its place in the project."""
        if self.link is not None:
            own: dict[str, Thing] = {f"{RUNS}/{self.run}": self.link}
        else:
            own = {f"{RUNS}/{self.run}/{name}": thing for name, thing in self.files.items()}
        return own | {f"{RUNS}/{name}": thing for name, thing in self.beside.items()}


def _but(base: Mapping[str, Thing], /, **changed: Thing | None) -> dict[str, Thing]:
    names = {name.replace("__", "."): thing for name, thing in changed.items()}
    merged = {**base, **names}
    return {name: thing for name, thing in merged.items() if thing is not None}


_DONE, _LOST = finished(RUN, result=False), unfinished(RUN)
_OTHERS = f"{{home}}/other/{RUNS}"

FOREIGN: tuple[HostileRecord, ...] = (
    HostileRecord("a draft of the result that is a link", {**_DONE, ".result.json.new": Link("{home}/.bashrc")}),
    HostileRecord("a draft that is a link to nothing", {**_DONE, ".result.json.new": Link("{home}/made-by-link")}),
    HostileRecord("a result that is a link", _but(_DONE, result__json=Link("../../../../{up}/.bashrc"))),
    HostileRecord("a result that is a link to nothing", _but(_DONE, result__json=Link("{home}/made-by-link"))),
    HostileRecord("a journal that is a link", _but(_LOST, events__jsonl=Link("{home}/.bashrc"))),
    HostileRecord(
        "the journal of another project's run",
        _but(_LOST, events__jsonl=Link(f"{_OTHERS}/{OTHER_LOST_RUN}/events.jsonl")),
    ),
    HostileRecord(
        "a journal through the working directory", _but(_LOST, events__jsonl=Link("/proc/self/cwd/{up}/.bashrc"))
    ),
    HostileRecord("a journal that is a second name", _but(_LOST, events__jsonl=HardLink("{home}/.bashrc"))),
    HostileRecord("a journal that is a pipe", _but(_LOST, events__jsonl=Pipe())),
    HostileRecord("a journal without end", _but(_LOST, events__jsonl=Link("/dev/zero"))),
    HostileRecord("a journal that is a directory", _but(_LOST, events__jsonl=Folder())),
    HostileRecord("a lease that is a link", _but(_LOST, lease=Link("{home}/.ssh/id_rsa"))),
    HostileRecord("a lease that is a link to nothing", _but(_LOST, lease=Link("{home}/made-by-link"))),
    HostileRecord("a lease that is a pipe", _but(_LOST, lease=Pipe())),
    HostileRecord("a lease that is a directory", _but(_DONE, lease=Folder())),
    HostileRecord(
        "logs that are links",
        {
            **finished(RUN),
            "transcript.log": Link("{home}/.ssh/id_rsa"),
            "stdout.log": Link("{home}/.ssh/id_rsa"),
            "stderr.log": Link("../../../../{up}/.ssh/id_rsa"),
            "child-session.jsonl": Link("{home}/.ssh/id_rsa"),
            "system-prompt.md": Link("{home}/.ssh/id_rsa"),
        },
    ),
    HostileRecord("a prompt that is a link", {**finished(RUN), "prompt.md": Link("{home}/.ssh/id_rsa")}),
    HostileRecord("meta data without end", {**finished(RUN), "meta.json": Link("/dev/zero")}),
    HostileRecord("a request to stop that is a link", {**_LOST, "stop": Link("{home}/.bashrc")}),
    HostileRecord("a way to steer that is a link", {**_LOST, "control": Link("{home}/.ssh/authorized_keys")}),
    HostileRecord(
        "a mark that is a link", {**finished(RUN, background=True, owner="cli"), "notified": Link("{home}/made")}
    ),
    HostileRecord("an agent directory that is a link", {**_LOST, "agent-dir": Link("{home}/other")}),
    HostileRecord("another project's run", link=Link(f"{_OTHERS}/{OTHER_LOST_RUN}")),
    HostileRecord("another project's run, relatively", link=Link(f"../../../{{up}}/other/{RUNS}/{OTHER_LOST_RUN}")),
    HostileRecord(
        "another project's run, through two links",
        link=Link("../first"),
        beside={"../first": Link("second"), "../second": Link(f"{_OTHERS}/{OTHER_RUN}")},
    ),
    HostileRecord("the home", link=Link("/proc/self/cwd/{up}")),
    HostileRecord("a run of the victim's own under another name", link=Link(NEIGHBOUR)),
)
"""Records that are not ours: links, pipes and devices where regular files should be."""

OWNED_BY_OTHERS: tuple[HostileRecord, ...] = (
    HostileRecord("a directory of somebody else's", {**_LOST}, owner=STRANGER),
    HostileRecord(
        "a journal of somebody else's", _but(_LOST, events__jsonl=Text(_LOST["events.jsonl"], 0o644, STRANGER))
    ),
    HostileRecord("a lease of somebody else's", _but(_LOST, lease=Text(b"", 0o666, STRANGER))),
)
"""The same for another user's; only root can make them."""


def _journal(
    name: str, *records: Mapping[str, object] | str | bytes, run: str = RUN, torn: bytes = b""
) -> HostileRecord:
    return HostileRecord(name, {"events.jsonl": lines(*records) + torn, "lease": b"", "meta.json": b"{}"}, run=run)


_BEGUN = (created(RUN, name="odd"), STARTED)
_HUGE = 1 << 63
_USAGE = {"input": _HUGE, "output": _HUGE, "totalTokens": _HUGE, "cost": 1e308}

ODD: tuple[HostileRecord, ...] = (
    _journal("two ends", *_BEGUN, ENDED, {**ENDED, "status": "failed", "reason": "exit"}),
    _journal("an end without a start", created(RUN), ENDED),
    _journal("an end without a beginning", ENDED),
    _journal("a start after the end", *_BEGUN, ENDED, STARTED),
    _journal("two beginnings", *_BEGUN, created(RUN), STARTED, ENDED),
    _journal("a time beyond the calendar", created(RUN, at=10**17), {**STARTED, "at": 10**18}, {**ENDED, "at": 10**18}),
    _journal("a time before the calendar", created(RUN, at=-(10**17)), STARTED, {**ENDED, "at": -(10**18)}),
    _journal(
        "a time that no database holds", created(RUN, at=_HUGE), {**STARTED, "at": _HUGE * 4}, {**ENDED, "at": _HUGE}
    ),
    _journal("more tokens than a database holds", *_BEGUN, says("x", usage=_USAGE), says("y", usage=_USAGE), ENDED),
    _journal("tokens below nothing", *_BEGUN, says("x", usage={"totalTokens": -_HUGE, "cost": -1e308}), ENDED),
    _journal("no number", *_BEGUN, '{"type":"message","at":NaN,"role":"assistant","usage":{"cost":1e999}}', ENDED),
    _journal("an exit code beyond counting", *_BEGUN, {"type": "exited", "at": 1, "exitCode": 10**30}, ENDED),
    _journal("nothing"),
    _journal("nothing but zeros", b"\0" * 4096),
    _journal("no text", b"\xff\xfe\x80{}", *_BEGUN, b"\xc3\x28", ENDED),
    _journal("a torn line", *_BEGUN, torn=b'{"type":"message","at":1,"ro'),
    _journal("depth", *_BEGUN, "[" * 100_000, '{"type":' * 5000, ENDED),
    _journal("a line of two megabytes", *_BEGUN, says("x" * (2 << 20)), ENDED),
    _journal(
        "other kinds", *_BEGUN, "null", "[]", '"text"', "1e400", '{"type": null}', '{"type": []}', {"type": "x\u0000y"}
    ),
    _journal(
        "lone surrogates",
        *_BEGUN,
        '{"type":"message","at":1,"role":"assistant","parts":[{"type":"text","text":"\\ud800"}]}',
    ),
    _journal("a name of a megabyte", created(RUN, name="n" * (1 << 20), prompt="p" * (1 << 20)), STARTED, ENDED),
    _journal(
        "escapes",
        created(RUN, name=ESCAPE, profile=ESCAPE, preset=ESCAPE, cwd=f"/{ESCAPE}"),
        STARTED,
        says(ESCAPE),
        ENDED,
    ),
    _journal("no name", created(RUN, name="", prompt="", cwd="", harness=""), STARTED, ENDED),
    _journal("a harness that there is not", created(RUN, harness="../../evil", resumeMode="retell"), STARTED, ENDED),
    _journal("a directory to work in that is not one", created(RUN, cwd="/dev/null"), STARTED, ENDED),
)
"""Regular files of ours, with journals that no program of ours would write."""

NEWER: tuple[tuple[HostileRecord, str], ...] = (
    (_journal("an unknown status", *_BEGUN, {**ENDED, "status": "hibernated", "reason": "settled"}), "hibernated"),
    (_journal("an unknown reason", *_BEGUN, {**ENDED, "status": "failed", "reason": "meteorite"}), "meteorite"),
    (_journal("an unknown event", *_BEGUN, {"type": "teleported", "at": 1, "to": "mars"}, ENDED), "completed"),
    (
        _journal("unknown fields", created(RUN, soul=21, name="odd"), {**STARTED, "moon": "full"}, {**ENDED, "x": 1}),
        "completed",
    ),
)
"""What another version of ours may have written, and a word that must be shown of it."""

# --- records that claim to be something else ---------------------------------------------------------

IMPOSTORS: tuple[HostileRecord, ...] = (
    _journal("the run of another project", created(OTHER_RUN, name="impostor"), STARTED, says("Impostor."), ENDED),
    _journal("the session of another project", created(RUN, sessionId=OTHER_SESSION, name="impostor"), STARTED, ENDED),
    _journal("a run of this project", created(NEIGHBOUR, name="impostor"), STARTED, says("Impostor."), ENDED),
    _journal(
        "a later run of a session of this project",
        created(f"20991231T000000000-{NEIGHBOUR_SESSION}", name="impostor"),
        STARTED,
        ENDED,
    ),
    _journal(
        "the same run, in a directory of another name",
        *(created(OTHER_RUN, name="impostor"), STARTED, ENDED),
        run=OTHER_RUN,
    ),
    _journal(
        "a session with a path for a name", created(RUN, sessionId="../../../../..", runId="../.."), STARTED, ENDED
    ),
    _journal(
        "a session with an absolute path for a name", created(RUN, sessionId="/etc", runId="/etc/passwd"), STARTED
    ),
)
"""Records whose journals name a run or a session that is somebody else's."""

# --- lists of sessions that lead elsewhere ---------------------------------------------------------

LISTS: dict[str, bytes] = {
    "the checkout through the working directory": b"/proc/self/cwd/../{name}\n",
    "the checkout": b"{clone}\n",
    "the project's sources": b"../../../src\n",
    "an absolute path to another project's run": f"{{home}}/other/{RUNS}/{OTHER_RUN}\n".encode(),
    "a relative path to another project's run": f"../../../{{up}}/other/{RUNS}/{OTHER_RUN}\n".encode(),
    "the directory itself": b".\n",
    "the directory above": b"..\n",
    "a run of another session": f"{NEIGHBOUR}\n".encode(),
    "a run of another session among its own": f"{RUN}\n{NEIGHBOUR}\n../{NEIGHBOUR}\n".encode(),
    "its own run, the long way round": f"../runs/{RUN}\n{RUN}/../{NEIGHBOUR}\n{RUN}/.\n".encode(),
    "the list itself": f".sessions\n.sessions/{SESSION}\n".encode(),
    "no text": b"\xff\xfe\0\n/\n~\n$HOME\n",
    "a million names": b"x\n" * 1_000_000,
}
"""What stands in `.sessions/<id>` of a session that has one good run."""


def plain_record() -> HostileRecord:
    """A good run, to which one of the lists belongs."""
    return HostileRecord("good", finished(RUN, name="listed"))


def many(records: tuple[HostileRecord, ...]) -> dict[str, Thing]:
    """Several records beside each other, each with a run and a session of its own."""
    table: dict[str, Thing] = {}
    for number, record in enumerate(records):
        session = f"bad{number:013x}"
        run = f"20260105T{number:06d}000-{session}"
        for name, thing in record.table.items():
            table[name.replace(RUN, run)] = _renamed(thing, run, session)
    return table


def _renamed(thing: Thing, run: str, session: str) -> Thing:
    if isinstance(thing, bytes):
        return thing.replace(RUN.encode(), run.encode()).replace(
            json.dumps(SESSION).encode(), json.dumps(session).encode()
        )
    return thing
