"""Which answer a request gets: conversations, steps, attempts."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from pi_subagents.offline import Attempts, Call, Fail, OfflineModel, Request, Say, Script, Turn
from pi_subagents.offline.script import Played, Player
from tests.offline.client import ask, assistant, request_of, tool_result, user


def said(answer: Played) -> str:
    assert isinstance(answer, Turn)
    return answer.text


def test_a_conversation_is_chosen_by_its_first_user_message() -> None:
    player = Player(Script().when("docs", [Say("about docs")]).otherwise([Say("about the rest")]))
    assert said(player.answer(request_of(user("audit the docs")))) == "about docs"
    assert said(player.answer(request_of(user("audit the code"), user("and the docs")))) == "about the rest"


def test_a_predicate_can_choose_by_anything_in_the_request() -> None:
    script = Script().when(lambda request: request.model == "big", [Say("big")]).otherwise([Say("small")])
    assert said(Player(script).answer(request_of(user("x"), model="big"))) == "big"
    assert said(Player(script).answer(request_of(user("x")))) == "small"


def test_the_first_matching_conversation_wins_wherever_the_fallback_was_set() -> None:
    script = Script().otherwise([Say("rest")]).when("ab", [Say("first")]).when("abc", [Say("second")])
    assert said(Player(script).answer(request_of(user("abc")))) == "first"


def test_each_answer_in_the_request_advances_the_conversation_by_one_step() -> None:
    player = Player(Script().otherwise([Say("one"), Say("two"), Say("three")]))
    asked = [user("x"), assistant("one"), user("go on"), user("please"), assistant("two")]
    assert said(player.answer(request_of(*asked[:1]))) == "one"
    assert said(player.answer(request_of(*asked[:4]))) == "two"
    assert said(player.answer(request_of(*asked))) == "three"
    assert said(player.answer(request_of(*asked[:1]))) == "one"


def test_a_script_that_has_run_out_says_so() -> None:
    player = Player(Script().otherwise([Say("only")]))
    assert "run out" in said(player.answer(request_of(user("x"), assistant("only"))))


def test_a_conversation_that_nobody_wrote_is_named() -> None:
    answer = said(Player(Script().when("docs", [])).answer(request_of(user("tell me a joke"))))
    assert "tell me a joke" in answer


def test_attempts_are_answered_in_order_and_the_last_one_repeats() -> None:
    player = Player(Script().otherwise([Attempts(Fail(429), Fail(500), Say("fine"))]))
    answers = [player.answer(request_of(user("x"))) for _ in range(4)]
    assert answers == [Fail(429), Fail(500), Turn("fine"), Turn("fine")]


def test_attempts_are_counted_per_step() -> None:
    step = Attempts(Fail(503), Say("ok"))
    player = Player(Script().otherwise([step, step]))
    first, second = request_of(user("x")), request_of(user("x"), assistant("ok"))
    answers = [player.answer(request) for request in (first, first, second, second)]
    assert answers == [Fail(503), Turn("ok"), Fail(503), Turn("ok")]


def test_agents_with_equal_prompts_have_attempts_of_their_own() -> None:
    player = Player(Script().otherwise([Attempts(Fail(429), Say("ok"))]))
    assert player.answer(request_of(user("x"), session="a")) == Fail(429)
    assert player.answer(request_of(user("x"), session="b")) == Fail(429)
    assert player.answer(request_of(user("x"), session="a")) == Turn("ok")


def test_an_attempt_can_be_composed_from_the_request() -> None:
    def compose(request: Request) -> Say:
        return Say(request.first_user_text.upper())

    player = Player(Script().otherwise([Attempts(Fail(429), compose)]))
    player.answer(request_of(user("x")))
    assert player.answer(request_of(user("x"))) == Turn("X")


def test_attempts_without_an_answer_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Attempts()


def test_parallel_conversations_with_one_prompt_do_not_disturb_each_other() -> None:
    script = Script().otherwise([Call("ls"), Call("ls"), lambda request: Say(f"{len(request.tool_results)} results")])
    with OfflineModel(script) as model:

        def converse(_: int) -> str:
            messages = [user("the same")]
            while calls := (reply := ask(model, *messages)).calls:
                messages += [assistant("", calls), tool_result(calls[0]["id"], "listing")]
            return reply.text

        with ThreadPoolExecutor(8) as pool:
            assert set(pool.map(converse, range(24))) == {"2 results"}
        assert len(model.requests) == 72
