"""Asks the package index whether versions in constraints.txt have known vulnerabilities: `advisories.py [FILE]`.

Exit code 1 if any has. Where the index cannot be reached, or keeps no such data, a line says that nothing was checked,
and the exit code is 0. The index is the one that pip uses. Standard library and pip only.
"""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

FIRST_ANSWER_S = 5.0
ALL_ANSWERS_S = 30.0
_REQUEST_S = 5.0
_AT_ONCE = 8
_MAX_BYTES = 32 * 1024 * 1024

Pin = tuple[str, str]


def main() -> int:
    """Check every pin, and say in one line what came of it."""
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent / "constraints.txt"
    pins = list(_pins(file))
    found = _ask_all(_index_address(), pins)
    for (name, version), advisories in sorted(found.items()):
        for advisory in advisories:
            _say(f"{name} {version} has a known vulnerability: {advisory}")
    if not found:
        _say("dependency advisories: not checked (no data)")
        return 0
    bad = sum(map(bool, found.values()))
    checked = f"{len(found)} of {len(pins)} pinned versions checked"
    _say(f"dependency advisories: {checked}, {bad} with known vulnerabilities")
    return 1 if bad else 0


def _pins(file: Path) -> Iterator[Pin]:
    for line in file.read_text(encoding="utf-8").splitlines():
        name, equals, version = line.partition("#")[0].strip().partition("==")
        if equals:
            yield name, version


def _index_address() -> str:
    """Where the index lies that pip asks: what its settings say, or else what it has built in."""
    asked = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", "global.index-url"], capture_output=True, text=True, check=False
    )
    configured = os.environ.get("PIP_INDEX_URL") or asked.stdout.strip()
    if not configured:
        from pip._internal.models.index import PyPI

        configured = PyPI.simple_url
    parts = urlsplit(configured)
    return f"{parts.scheme}://{parts.netloc}"


def _ask_all(index: str, pins: list[Pin]) -> dict[Pin, list[str]]:
    """What is known of each pin; those of which nothing could be learnt in time are not there."""
    pool = ThreadPoolExecutor(_AT_ONCE)
    waiting = {pool.submit(_ask, index, *pin): pin for pin in pins}
    found: dict[Pin, list[str]] = {}
    began = time.monotonic()
    while waiting:
        until = began + (ALL_ANSWERS_S if found else FIRST_ANSWER_S)
        done, _ = wait(waiting, timeout=max(until - time.monotonic(), 0), return_when=FIRST_COMPLETED)
        if not done:
            break
        answers = {waiting.pop(answer): answer.result() for answer in done}
        found |= {pin: known for pin, known in answers.items() if known is not None}
    pool.shutdown(wait=False, cancel_futures=True)
    return found


def _ask(index: str, name: str, version: str) -> list[str] | None:
    """The advisories about a version; None if the index does not say."""
    # Some indices know only the newest version of each project in this form.
    for path in (f"{name}/{version}", name):
        answer = _fetch(f"{index}/pypi/{path}/json")
        if isinstance(answer.get("vulnerabilities"), list) and answer.get("info", {}).get("version") == version:
            return [_words(advisory) for advisory in answer["vulnerabilities"] if not advisory.get("withdrawn")]
    return None


def _fetch(address: str) -> dict[str, Any]:
    try:
        with urllib.request.urlopen(address, timeout=_REQUEST_S, context=_trust()) as response:
            answer = json.loads(response.read(_MAX_BYTES))
    except (OSError, ValueError):
        return {}
    return answer if isinstance(answer, dict) else {}


@cache
def _trust() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=os.environ.get("PIP_CERT"))


def _words(advisory: dict[str, Any]) -> str:
    fixed = ", ".join(advisory.get("fixed_in") or ()) or "no version yet"
    return f"{' '.join([str(advisory.get('id')), *(advisory.get('aliases') or ())])}; mended in {fixed}"


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)  # an index that does not answer holds nobody up
