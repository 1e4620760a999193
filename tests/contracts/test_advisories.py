"""Known vulnerabilities of pinned versions fail the check; an index without an answer does not."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.kit.waiting import PATIENCE_S

SCRIPT = Path(__file__).parents[2] / "scripts" / "advisories.py"
NOT_CHECKED = "dependency advisories: not checked (no data)\n"

# As the script does it, but with another patience.
PROGRAM = f"""
import sys
sys.path.insert(0, {str(SCRIPT.parent)!r})
import advisories
advisories.FIRST_ANSWER_S = advisories.ALL_ANSWERS_S = advisories._REQUEST_S = float(sys.argv.pop())
sys.exit(advisories.main())
"""


def document(version: str, *advisories: Mapping[str, Any]) -> dict[str, Any]:
    return {"info": {"version": version}, "vulnerabilities": list(advisories)}


@contextmanager
def index(documents: Mapping[str, Any]) -> Iterator[str]:
    """A package index that has these documents; yields its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = documents.get(self.path.removeprefix("/pypi/").removesuffix("/json"))
            self.send_response(404 if found is None else 200)
            self.end_headers()
            self.wfile.write(json.dumps(found).encode())

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/simple"
        server.shutdown()


def check(address: str, tmp_path: Path, *pins: str, patience_s: float = PATIENCE_S) -> tuple[int, str]:
    file = tmp_path / "constraints.txt"
    file.write_text("# pinned\n" + "\n".join(pins) + "\n")
    environ = {"PIP_INDEX_URL": address, "HOME": str(tmp_path), "NO_PROXY": "*"}
    argv = [sys.executable, "-B", "-c", PROGRAM, str(file), str(patience_s)]
    done = subprocess.run(argv, env=environ, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_a_known_vulnerability_fails_the_check_and_is_named(tmp_path: Path) -> None:
    bad = {"id": "PYSEC-1", "aliases": ["CVE-2"], "fixed_in": ["1.1"]}
    with index({"good/2.0": document("2.0"), "bad/1.0": document("1.0", bad)}) as address:
        code, said = check(address, tmp_path, "good==2.0", "bad==1.0")
    assert code == 1
    assert said == (
        "bad 1.0 has a known vulnerability: PYSEC-1 CVE-2; mended in 1.1\n"
        "dependency advisories: 2 of 2 pinned versions checked, 1 with known vulnerabilities\n"
    )


def test_what_is_known_of_another_version_says_nothing_and_what_was_withdrawn_is_over(tmp_path: Path) -> None:
    withdrawn, other = {"id": "A", "withdrawn": "2026-01-01"}, {"id": "B"}
    with index({"one": document("1.0", withdrawn), "two": document("9.0", other)}) as address:
        code, said = check(address, tmp_path, "one==1.0", "two==1.0")
    assert (code, said) == (0, "dependency advisories: 1 of 2 pinned versions checked, 0 with known vulnerabilities\n")


def test_an_index_without_such_data_is_said_not_to_have_been_asked(tmp_path: Path) -> None:
    with index({"one": {"info": {"version": "1.0"}}}) as address:
        assert check(address, tmp_path, "one==1.0") == (0, NOT_CHECKED)


def test_an_index_that_never_answers_holds_nobody_up(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/simple"
        pins = [f"p{number}==1" for number in range(50)]
        assert check(address, tmp_path, *pins, patience_s=0.2) == (0, NOT_CHECKED)
