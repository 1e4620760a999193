"""Reading a session inside pi: its end, however long it is."""

from __future__ import annotations

from pathlib import Path

from pi_subagents.surfaces.bridge.run_list import Transcript
from tests.kit.sessions import Shelf, says


def test_a_short_session_is_read_as_a_whole(tmp_path: Path) -> None:
    kept = Shelf(tmp_path / "project", tmp_path / "agent").add(says("One"), says("Two"))
    transcript = Transcript(kept.run_dir)
    assert transcript.look()
    assert transcript.text == "One\n---\nTwo"
    assert not transcript.look()


def test_of_a_long_one_the_end_is_read_and_the_rest_is_said_to_be_elsewhere(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "project", tmp_path / "agent")
    kept = shelf.add(*(says(f"{number}" + "x" * 100_000) for number in range(100)), says("The end."))
    transcript = Transcript(kept.run_dir)
    assert transcript.look()
    first, _, rest = transcript.text.partition("\n")
    assert first.endswith("characters before this: 'pi-subagents sessions show' shows them …]")
    assert len(rest) == 200_000
    assert rest.endswith("\n---\nThe end.")
