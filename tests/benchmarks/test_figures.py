"""The pure parts of the benchmark: a wrong ratio or goal would be believed by everybody who reads the table."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from benchmarks.delegation import named_commands
from benchmarks.figures import Figure, ideal_s, medians, ratios, spread
from benchmarks.plot import panels_of, size_of, svg

ROUNDS = {
    "bare": [{"wall_s": 10.0}, {"wall_s": 20.0}, {"wall_s": 40.0}],
    "warm": [{"wall_s": 5.0}, {"wall_s": 6.0}, {"wall_s": 4.0}],
}
SVG = "{http://www.w3.org/2000/svg}"


def test_a_ratio_compares_what_was_measured_in_the_same_round() -> None:
    assert ratios(ROUNDS, "bare") == {"warm": 0.3}
    assert spread(ROUNDS, "bare", "warm") == (0.1, 0.5)
    assert medians(ROUNDS["bare"]) == {"wall_s": 20.0}


def test_a_goal_is_the_most_or_the_least() -> None:
    assert Figure("wall", 1.0, "×", goal=1.0).is_met
    assert not Figure("wall", 1.1, "×", goal=1.0).is_met
    assert Figure("events", 2.0, "/s", goal=1.0, at_least=True).is_met
    assert Figure("memory", 2.0, "MB").is_met is None
    words = Figure("wall", 1.1, "×", goal=1.0, note="noisy").line().split()
    assert " ".join(words) == "✗ wall 1.10 × (goal: at most 1.00 ×) noisy"


def test_the_ideal_counts_full_rounds_of_the_model() -> None:
    assert ideal_s(64, 16, 0.5, turns=2) == 4.0
    assert ideal_s(4, 16, 0.5, turns=2) == 1.0


def test_the_picture_has_a_bar_for_every_subject_as_high_as_its_ratio() -> None:
    cells = [
        {"latency_s": 0.0, "jobs": 4, "tasks": 1, "wall_ratios": {"cold": 1.0, "<peer>": 2.0}},
        {"latency_s": 0.5, "jobs": 16, "tasks": 64, "wall_ratios": {"cold": 0.5, "<peer>": 1.0}},
    ]
    names = {"bare": "bare pi", "cold": "cold", "<peer>": "<peer>"}
    series, panels = panels_of({"subjects": names, "cells": cells})
    picture = ElementTree.fromstring(svg("Ratios", series, panels))
    bars = [rect for rect in picture.iter(f"{SVG}rect") if rect.find(f"{SVG}title") is not None]
    heights = [float(bar.attrib["height"]) for bar in bars]
    assert [round(height / heights[0], 2) for height in heights] == [1.0, 2.0, 0.5, 1.0]
    assert "<peer>" in [text.text for text in picture.iter(f"{SVG}text")]
    assert (int(picture.attrib["width"]), int(picture.attrib["height"])) == size_of(panels)


def test_a_peer_needs_a_name_of_its_own_and_a_command() -> None:
    assert named_commands(["other=run --env A=B {n}"]) == {"other": "run --env A=B {n}"}
    for wrong in ("other", "other=", "=run", "bare=run"):
        with pytest.raises(SystemExit, match="name=command"):
            named_commands([wrong])
