"""The pure parts of the benchmark: a wrong ratio or goal would be believed by everybody who reads the table."""

from __future__ import annotations

from benchmarks.figures import Figure, ideal_s, medians, ratios, spread

ROUNDS = {
    "bare": [{"wall_s": 10.0}, {"wall_s": 20.0}, {"wall_s": 40.0}],
    "warm": [{"wall_s": 5.0}, {"wall_s": 6.0}, {"wall_s": 4.0}],
}


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
