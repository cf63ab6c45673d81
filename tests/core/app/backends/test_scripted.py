"""The scripted model: answers wrong as often as a study asks for, in the form that is asked for."""

import asyncio
import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ai_alone.methods.base import MethodContext
from app.ai_alone.methods.registry import METHODS, RELEASED
from app.backends import scripted
from app.backends.base import PromptMessage, Request, ToolSpec
from app.backends.model_ref import ModelRef
from experiments.session.memory import statements, transcript
from experiments.study.sections.ai_alone import AiAloneSpec
from experiments.study.sections.model_spec import ModelSpec
from problems.problem import Option, Problem

OPTIONS = tuple(
    Option(key, text, text) for key, text in zip("ABCD", ("17", r"\(x^2\)", "**20**", "the sum"), strict=True)
)
CHOICE = Problem("q-1", "What is 4x3+5?", "What is 4x3+5?", "sums", OPTIONS, "A")
NUMBER = Problem("q-2", "What is 4x3+5?", "What is 4x3+5?", "sums", answer="17")
PROBLEMS = st.sampled_from([None, CHOICE, NUMBER, replace(CHOICE, answer=None), replace(NUMBER, answer=None)])
MODEL = ModelRef("m", ModelSpec(backend="scripted"))


def reply(request, wrong, **options):
    return scripted.reply(request, scripted.ScriptedOptions(wrong=wrong, **options))


def asked(*texts, problem=CHOICE, seed="s", **more):
    roles = ("user", "assistant")
    return Request(
        "m",
        tuple(PromptMessage(roles[n % 2], text) for n, text in enumerate(texts)),
        seed=seed,
        problem=problem,
        **more,
    )


@given(st.lists(st.text(max_size=80), max_size=6), st.text(max_size=5), st.floats(0, 1), PROBLEMS)
def test_it_always_has_something_to_say_and_the_same_each_time(texts, seed, wrong, problem):
    request = asked(*texts, seed=seed, problem=problem)
    assert reply(request, wrong).strip()
    assert reply(request, wrong) == reply(request, wrong)


@pytest.mark.parametrize(("problem", "right"), [(CHOICE, "**A. 17**"), (NUMBER, "**17**")])
def test_it_is_wrong_about_as_often_as_asked(problem, right):
    replies = [reply(asked("Help?", seed=str(seed), problem=problem), 0.25) for seed in range(400)]
    assert 70 < sum(right not in text for text in replies) < 130
    assert all(right in reply(asked("Help?", seed=str(seed), problem=problem), 0) for seed in range(20))
    assert not any(right in reply(asked("Help?", seed=str(seed), problem=problem), 1) for seed in range(20))


@pytest.mark.parametrize("name", RELEASED)
def test_every_method_of_ai_alone_reads_an_answer_right_at_the_rate(name):
    method = METHODS.find(name)
    terms = MethodContext(MODEL, AiAloneSpec(), MODEL, {"sums": (CHOICE,) * 5})

    def result(seed, wrong):
        texts = []
        while (found := method.read(CHOICE, texts)) is None:
            request = method.ask(terms, CHOICE, texts).request
            texts.append(reply(replace(request, problem=CHOICE, seed=f"{seed}:{len(texts)}"), wrong))
        return found

    assert all(result(seed, 0).right for seed in range(20))
    found = [result(seed, 0.25) for seed in range(200)]
    assert {one.kind for one in found} == {"answered"}
    assert 25 < sum(not one.right for one in found) < 75


def test_json_of_a_schema_is_given_where_one_is_asked_for():
    properties = {"safe": {"type": "boolean"}, "kind": {"enum": ["a", "b"]}, "score": {"type": "integer", "maximum": 3}}
    schema = {"type": "object", "properties": properties}
    found = json.loads(reply(asked("Judge this.", schema=schema), 0))
    assert found["safe"] in (True, False)
    assert found["kind"] in ("a", "b")
    assert 0 <= found["score"] <= 3


@pytest.mark.parametrize(
    ("manner", "violating", "gives"), [("tutor", 0, 0), ("tutor", 1, 1), ("teller", 0, 1), ("teller", 1, 0)]
)
def test_a_manner_tells_the_answer_or_asks_and_violates_it_at_the_rate(manner, violating, gives):
    texts = {reply(asked("Help?", seed=str(seed)), 0, manner=manner, violating=violating) for seed in range(40)}
    assert {("17" in text, "?" in text) for text in texts} == {(bool(gives), not gives)}
    assert "17" in reply(asked("a", "b", "c", "d", "e"), 0, manner="tutor")
    half = [reply(asked("Help?", seed=str(seed)), 0, manner=manner, violating=0.5) for seed in range(400)]
    assert 160 < sum("17" in text for text in half) < 240


def test_a_script_asks_for_tools_that_are_offered_and_repeats_what_they_gave():
    options = {"calls": [[{"tool": "look", "arguments": {"order": 7}}, {"tool": "pay"}]], "first_ms": 0, "pace_ms": 0}
    look = ToolSpec("look", "", {})
    backend = scripted.Scripted(None, no_wait)
    asked = Request("m", (PromptMessage("user", "Where is it?"),), options=options, tools=(look,))
    call, end = read(backend, asked)
    assert (call.tool, json.loads(call.arguments), end.finish_reason) == ("look", {"order": 7}, "tool_calls")
    result = PromptMessage("tool", "on its way", call_id=call.id)
    answered = replace(asked, messages=(*asked.messages, PromptMessage("assistant", "", (call,)), result))
    assert "".join(delta.text for delta in read(backend, answered)[:-1]) == "on its way"
    assert read(backend, replace(asked, tools=()))[-1].finish_reason == "stop"


async def no_wait(_):
    pass


def read(backend, request):
    async def all_of():
        return [delta async for delta in backend.stream(request)]

    return asyncio.run(all_of())


@pytest.mark.parametrize(("wrong", "made"), [(0, ["find", "pay"]), (1, ["find"])])
def test_a_task_is_done_after_the_first_message_and_its_evaluation_is_never_said(wrong, made):
    actions = [{"name": name, "arguments": {"order": "7"}} for name in ("find", "pay")]
    task = {"user_scenario": {}, "evaluation_criteria": {"actions": actions, "communicate_info": ["88"]}}
    problem = Problem("t", "Pay.", "Pay.", "desk", answer=json.dumps(task), tags={"policy": "Be kind."})
    tools = tuple(ToolSpec(name, "", {}) for name in ("find", "pay"))
    request = asked("Hello", problem=problem, tools=tools, options={"wrong": wrong, "first_ms": 0, "pace_ms": 0})
    *calls, _ = read(scripted.Scripted(None, no_wait), request)
    assert [call.tool for call in calls] == made
    before = reply(asked("Hello", "Hm", "And now?", problem=problem), wrong)
    after = reply(replace(request, messages=(*request.messages, PromptMessage("tool", "{}", call_id="1"))), wrong)
    assert ("88" in before, "88" in after, "actions" in f"{before}{after}") == (False, True, False)


@pytest.mark.parametrize("manner", ["plain", "teller"])
def test_an_option_stands_in_a_sentence_without_its_own_marks(manner):
    texts = ("It points *down*.", "**20**, and no more.", "2*3", r"\(f(x)*2\).")
    problem = replace(CHOICE, options=tuple(Option(*one) for one in zip("ABCD", texts, texts, strict=True)))
    told = "\n".join(
        reply(asked("Help?", seed=str(seed), problem=problem), wrong, manner=manner)
        for seed in range(40)
        for wrong in (0, 1)
    )
    assert not re.search(r"\.\*\*\.|\s[,.]", told)
    named = ("A. It points down", "B. 20, and no more", "C. 2*3", r"D. \(f(x)*2\)")
    assert {name for name in named if f"**{name}**" in told} == {*named}


def test_of_a_conversation_to_be_remembered_it_repeats_what_the_person_said():
    talk = transcript([{"wave": "1", "said": [("Person", "I teach."), ("Assistant", "My replies are fixed.")]}], 1000)
    assert statements(reply(asked(talk[0], problem=None), 0)) == ["Has written: I teach."]
