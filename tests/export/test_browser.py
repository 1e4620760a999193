"""The page in a real browser: what an agent wrote has become text, not elements, and nothing ran."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from scripts.bootstrap import PROGRAMS
from tests.export.kit import Page, html_of
from tests.kit.sessions import call, returns, run_of, says
from tests.kit.waiting import PATIENCE_S

_PROGRAM = next(program for program in PROGRAMS if program.apt_package == "chromium")
_BROWSER = next(filter(None, map(shutil.which, _PROGRAM.commands)), None)
_FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"),
    *("--virtual-time-budget=2000",),
)

pytestmark = pytest.mark.skipif(
    _PROGRAM.is_missing,
    reason=f"not run, because the program is not installed: {_PROGRAM.commands[0]} ({_PROGRAM.used_for})",
)

ATTACK = (
    "<script>document.body.dataset.ran = 'script'</script>"
    "<img src='x.png' onerror=\"document.body.dataset.ran = 'onerror'\">"
    "<svg onload=\"document.body.dataset.ran = 'onload'\"></svg>"
)


def elements_in_browser(page: str, folder: Path) -> list[tuple[str, dict[str, str | None]]]:
    """The elements of the document after the browser has loaded the page and run whatever it would run."""
    file = folder / "page.html"
    file.write_text(page, encoding="utf-8")
    done = subprocess.run(
        [str(_BROWSER), *_FLAGS, f"--user-data-dir={folder / 'browser'}", "--dump-dom", file.as_uri()],
        env={"HOME": str(folder), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    return Page(done.stdout).elements


def test_script_and_markup_in_agent_output_stay_text(tmp_path: Path) -> None:
    page = html_of(
        run_of(
            says(ATTACK, call("1", "bash", command=ATTACK)),
            returns("1", "bash", f"</pre></details>{ATTACK}"),
            says(f"Done.\n\n{ATTACK}\n\n[click](javascript:alert(1))"),
            prompt=ATTACK,
        )
    )
    found = elements_in_browser(page, tmp_path)
    tags = [tag for tag, _ in found]
    assert tags.count("details") == 1
    assert not {"script", "img", "svg", "a"} & set(tags)
    assert [attributes for tag, attributes in found if tag == "body"] == [{}]


def test_the_policy_of_the_page_stops_even_what_would_slip_through(tmp_path: Path) -> None:
    page = html_of(run_of(says("Hello.")))
    broken_in = page.replace("</main>", f"{ATTACK}</main>")
    found = elements_in_browser(broken_in, tmp_path)
    assert "script" in [tag for tag, _ in found]
    assert [attributes for tag, attributes in found if tag == "body"] == [{}]


def test_without_the_policy_the_attack_would_have_worked(tmp_path: Path) -> None:
    page = html_of(run_of(says("Hello.")))
    start = page.index("<meta http-equiv")
    open_page = page[:start] + page[page.index("\n", start) :].replace("</main>", f"{ATTACK}</main>")
    (body,) = [attributes for tag, attributes in elements_in_browser(open_page, tmp_path) if tag == "body"]
    assert body.get("data-ran")
