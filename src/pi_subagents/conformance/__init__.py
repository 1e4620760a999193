"""What every agent must do to be a worker: thirty stories, run with the real program and a scripted model."""

from pi_subagents.conformance.agents import TESTED, TestedAgent
from pi_subagents.conformance.exceptions import EXCEPTIONS
from pi_subagents.conformance.stories import STORIES, Story
from pi_subagents.conformance.suite import Result, Verdict, program_for, run_story, run_suite

__all__ = [
    "EXCEPTIONS",
    "STORIES",
    "TESTED",
    "Result",
    "Story",
    "TestedAgent",
    "Verdict",
    "program_for",
    "run_story",
    "run_suite",
]
