"""The table of goals: what it says is believed, so a wrong mark, ratio or sentence would be."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from benchmarks import plot, race, report
from benchmarks.figures import Cell
from benchmarks.goals import GOALS, IDEAL, Goal, Race, Row, markdown, rows_of, rows_of_json, table
from benchmarks.peers import ORIGINAL, QUICKEST

SVG = "{http://www.w3.org/2000/svg}"
GOAL = Goal("one", "tasks / others", 0.5, "×", "0.9", reason="The others are quick.")
MET, MISSED, UNKNOWN = Row(GOAL, [0.4, 0.9, 0.5]), Row(GOAL, [0.6]), Row(GOAL, [], "not measured: no time")


def test_the_median_of_the_rounds_decides_whether_a_goal_is_met() -> None:
    assert (MET.is_met, MET.reached, MET.spread) == (True, "0.5 ×", "0.4–0.9")
    assert (MISSED.is_met, UNKNOWN.is_met) == (False, None)
    assert Row(GOAL, [0.501]).is_met is False


def test_a_missed_goal_stays_in_the_table_with_its_reason() -> None:
    lines = [" ".join(line.split()) for line in table([MET, MISSED, UNKNOWN]).splitlines()]
    assert lines[1:] == [
        "✓ tasks / others 0.5 × 0.5 × 0.4–0.9 3 0.9",
        "✗ tasks / others 0.6 × 0.5 × 0.6–0.6 1 0.9",
        "why not: The others are quick.",
        "– tasks / others – 0.5 × – 0 0.9",
        "not measured: no time",
    ]
    assert MET.why == ""
    assert Row(replace(GOAL, reason=""), [0.6]).why == "no reason is known yet"


def test_the_page_shows_the_same_rows_and_reasons() -> None:
    lines = markdown([MET, MISSED]).splitlines()
    assert lines[2:4] == [
        "| ✓ | tasks / others | 0.5 × | 0.5 × | 0.4–0.9 | 3 | 0.9 |",
        "| ✗ | tasks / others | 0.6 × | 0.5 × | 0.6–0.6 | 1 | 0.9 |",
    ]
    assert lines[-1] == "- ✗ tasks / others: The others are quick."


def test_every_goal_has_a_row_and_comes_back_from_what_was_kept() -> None:
    rows = rows_of({"first-agent": [100.0, 120.0, 105.0]}, {"first-agent": "in ms: imports 40"})
    assert [row.goal for row in rows] == list(GOALS)
    assert len({goal.key for goal in GOALS}) == len(GOALS)
    kept = [row.to_json() for row in rows]
    assert rows_of_json(kept) == [replace(row, values=list(row.values)) for row in rows]
    assert [one["met"] for one in kept if one["rounds"]] == [True]


def test_a_race_compares_the_subjects_of_one_round() -> None:
    measured = {"cli": {"wall_s": 3.0}, ORIGINAL: {"wall_s": 10.0}, "warmed": {"wall_s": 4.4}}
    assert race.ratio(Race(Cell(0.0, 16), "cli", ORIGINAL), measured) == 0.3
    assert race.ratio(Race(Cell(0.0, 16), "cli", ORIGINAL, share=0.5), measured) == 0.6
    assert race.ratio(Race(Cell(0.5, 64, 16), "warmed", IDEAL), measured) == pytest.approx(1.1)


def test_everybody_runs_once_in_a_cell_whatever_number_of_goals_asks() -> None:
    cell = Cell(0.0, 16)
    wanted = [Race(cell, "cli", ORIGINAL), Race(cell, "cli", "bare"), Race(Cell(0.5, 64, 16), "warmed", IDEAL)]
    assert race.runners(wanted) == {cell: [ORIGINAL, "cli", "bare"], Cell(0.5, 64, 16): ["warmed"]}


def test_without_the_quickest_peer_its_share_of_the_original_stands_for_it() -> None:
    assert race.races([ORIGINAL, QUICKEST])["cli-16-quickest"].against == QUICKEST
    stands_in = race.races([ORIGINAL])["cli-16-quickest"]
    assert (stands_in.against, stands_in.share) == (ORIGINAL, 0.238)


FOUND = {
    "values": {"cli-16-original": [0.2], "cli-16-quickest": [0.8]},
    "peers": [ORIGINAL],
    "first_agent": {
        "interpreter_ms": 12.0,
        "imports_ms": 40.4,
        "planning_ms": 9.0,
        "record_ms": 2.0,
        "spawn_ms": 3.0,
        "python_ms": 11.0,
    },
}


def test_the_rows_say_what_they_are_made_of_and_what_was_not_measured() -> None:
    little, much = {"records": 100_000, "growth_mb": 9.0}, {"records": 1_000_000, "growth_mb": 0.1}
    notes = {row.goal.key: row.note for row in race.rows(FOUND, {"flood": little})}
    assert notes["first-agent"] == "in ms: interpreter 12, imports 40, planning 9, record 2, spawn 3"
    assert notes["list-profiles"] == "python -c pass: 11 ms"
    assert (
        notes["cli-16-quickest"] == "the quickest peer was not measured, but taken as 0.238 of the original extension"
    )
    assert notes["cli-4-original"].startswith("not measured: it needs --peers")
    assert notes["memory-growth"].startswith("not measured: no time was left")
    assert list(race.rows(FOUND, {"flood": much})[-1].values) == [0.1]


def test_without_peers_only_the_goals_that_need_them_are_left_out() -> None:
    missing = {goal.key for goal in GOALS if goal.race} - set(race.races([]))
    assert missing == {"cli-16-original", "cli-4-original", "cli-16-quickest"}


def test_the_picture_shows_every_goal_with_a_bar_as_long_as_its_share_of_the_goal() -> None:
    text = plot.svg([MET, MISSED, UNKNOWN], {})
    picture = ElementTree.fromstring(text)
    bars = {bar.attrib["class"]: float(bar.attrib["width"]) for bar in picture.iter(f"{SVG}rect")}
    assert bars["missed"] / bars["met"] == pytest.approx(1.2)
    words = [one.text for one in picture.iter(f"{SVG}text")]
    assert [word for word in words if word and word[0] in "✓✗"] == ["✓ 0.5 ×", "✗ 0.6 ×"]
    assert "not measured" in words
    assert (int(picture.attrib["width"]), int(picture.attrib["height"])) == plot.size_of(text)


def test_the_picture_compares_sixteen_tasks_the_slowest_first() -> None:
    cells = [{"tasks": 16, "wall_s": {"cli": 2.0, ORIGINAL: 8.0, "<x>": 4.0}}, {"tasks": 4, "wall_s": {"cli": 1.0}}]
    times = plot.times_of({"cells": cells})
    assert list(times.values()) == [8.0, 4.0, 2.0]
    bars = ElementTree.fromstring(plot.svg([], times)).iter(f"{SVG}rect")
    assert [(bar.attrib["class"], float(bar.attrib["width"])) for bar in bars][1:] == [
        ("other", 340.0),
        ("other", 170.0),
        ("ours", 85.0),
    ]


def test_the_page_is_renewed_only_between_its_marks() -> None:
    page = "Before\n<!-- written by ./scripts/bench --docs -->\nold\n<!-- until here -->\nAfter\n"
    new = report.renewed(page, "new \\1\n")
    assert new == page.replace("old\n", "\nnew \\1\n\n")
    assert report.renewed(new, "new \\1\n") == new
    with pytest.raises(SystemExit, match="no place"):
        report.renewed("Before\n", "new")
    assert report.renewed(report.PAGE.read_text(encoding="utf-8"), "new")


def test_figures_of_a_busy_machine_say_so() -> None:
    kept = {"busy_share_before": 0.01, "busy_share_after": 0.02, "took_s": 60.0, "machine": {"cores": 2}}
    assert "too much" not in report.conditions(kept)
    assert "too much" in report.conditions({**kept, "busy_share_after": 0.9})
