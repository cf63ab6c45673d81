"""What models remember of earlier waves, by condition: the texts and their bounds, failures, and statements."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from typing import Any, Self

import pytest

from experiments.errors import Refused
from experiments.events import Action, Data
from experiments.session.conversation import spent
from experiments.session.engine import decide, fold, pending_tasks
from experiments.session.memory import FACT_CHARS, SLOT, history_of
from experiments.study.location import State
from experiments.study.resolve import resolve
from experiments.study.study import Study
from experiments.views.funnel import SessionGroup, funnel
from experiments.views.transcript import transcript_of
from storage.datasets.tidy.columns import Layout
from storage.datasets.tidy.rows import TidySession, rows
from tests.fakes.driven import Driven, places

TALK = {"step": "compare", "models": ["m", "n"], "vote_when": "at_end", "min_messages": 0}
MODEL = {"backend": "scripted", "system": "Be kind."}
FACTS = {"step": "facts"}
END = {"step": "finish", "text": "Bye."}
BY_ARM: dict[str, Any] = {
    "by": "arm",
    "pick": {"none": "none", "full": "transcript", "short": "summary", "known": "facts"},
}


def study(kind: Any, *first: Any, second: Any = (TALK,), **memory: Any) -> Study:
    """Three waves: the first of these steps, the others of those."""
    flows = [first or (TALK,), second, second]
    raw = {
        "study": "weeks",
        "title": "Weeks",
        "models": {name: MODEL for name in ("m", "n", "notes")},
        "factors": {"arm": [*BY_ARM["pick"]]},
        "memory": {"kind": kind, **({} if kind == "transcript" else {"model": "notes"}), **memory},
        "waves": [{"wave": f"W{number}", "flow": [*flow, END]} for number, flow in enumerate(flows, 1)],
    }
    return resolve(json.loads(json.dumps(raw)), {}, {})


class Wave(Driven):
    """The session of a person who had these before."""

    def __init__(self, study: Study, *earlier: Driven, seed: str = "1") -> None:
        self.study, self.state, self.earlier = study, State(), [one.state for one in earlier]
        own: dict[str, Any] = {"person": "p", "wave": study.waves[len(earlier)].id}
        own |= {"factors": earlier[0].state.factors} if earlier else {}
        enrolled = {"seed": seed, "origin": "bot", "hash": "", "study": "", **own}
        self.send(Action("enrol", "", enrolled, 0, by="system"))

    def send(self, action: Action) -> Self:
        self.state = fold(decide(self.study, self.state, action), self.state)
        while (jobs := pending_tasks(self.study, self.state)) and jobs[0].kind != "reply":
            data = history_of(self.earlier) if jobs[0].kind == "recall" else {}
            owed = Action(jobs[0].kind, jobs[0].path, data, action.at_us, by="system")
            self.state = fold(decide(self.study, self.state, owed), self.state)
        return self

    def talk(self, text: str, *replies: str) -> Self:
        self.do("say", text=text)
        return self.hear("a", replies[0] if replies else "Aha.").hear("b", replies[-1] if replies else "Oho.")

    def leaves(self) -> Self:
        return self.do("vote" if "vote" in self.actions else "submit", winner="a")

    def prompt(self, text: str = "Hm?") -> str:
        """The system prompt of the next reply."""
        self.do("say", text=text)
        return self.prompts[0][0]

    @property
    def memory(self) -> Data:
        return self.last_of("remembered").data

    def table(self, name: str) -> list[dict[str, Any]]:
        return list(rows(name, TidySession(self.study, self.state, {}), Layout((self.study,))))


def test_each_condition_gives_the_models_its_memory_to_the_letter() -> None:
    by_arm, found = study(BY_ARM, TALK, FACTS), dict[str, str]()
    for number in range(40):
        first = Wave(by_arm, seed=f"{number}").talk("I keep bees.", "How many?", "Where?").leaves()
        arm = first.state.factors["arm"]
        assert (first.path == "w1/facts") == (arm == "known"), "others are not asked"
        if arm == "known":
            first.hear(SLOT, "- Keeps bees").do(fact_1="Keeps bees")
        group = SessionGroup(first.state.factors, "w1/finish", "w1/finish", "complete", False, 1, 0)
        came = {one.path for one in funnel(by_arm, [group]).steps if one.came}
        timed = {row["path"] for row in first.table("timings")}
        assert ("w1/facts" in came, "w1/facts" in timed) == (arm == "known",) * 2
        second = Wave(by_arm, first)
        if arm == "short":
            second.hear(SLOT, "Somebody with bees.")
        found[arm] = second.prompt()
        if arm == "none":
            assert not {"recalled", "remembered"} & {event.kind for event in second.state.events}
            continue
        text = second.memory["text"]
        assert found[arm] == f"Be kind.\n\n{by_arm.file.memory and by_arm.file.memory.intro}\n\n{text}"
        assert (second.memory["sha256"], second.memory["from"]) == (sha256(text.encode()).hexdigest(), ["w1"])
    assert {arm: prompt.rpartition(":\n\n")[2] for arm, prompt in found.items() if arm in ("short", "known")} == {
        "short": "Somebody with bees.",
        "known": "- Keeps bees",
    }
    assert found["none"] == "Be kind."
    assert found["full"].endswith(
        "Conversation\n\nPerson: I keep bees.\n\nAssistant A: How many?\n\nAssistant B: Where?"
    )


def test_a_wave_remembers_all_before_it_and_what_was_given_back_is_not_said() -> None:
    full = study("transcript")
    first = Wave(full).talk("One", "1", "1").leaves()
    second = Wave(full, first).do("say", text="Refused").fails("content_filter", "a").hear("b", "no")
    second.talk("Two", "2", "2").leaves()
    third = Wave(full, first, second)
    said = ["Conversation\n\nPerson: One\n\nAssistant A: 1\n\nAssistant B: 1"]
    said += ["Conversation\n\nPerson: Two\n\nAssistant A: 2\n\nAssistant B: 2"]
    assert (third.memory["text"], third.memory["from"]) == ("\n\n".join(said), ["w1", "w2"])
    assert Wave(full, first, second).memory == third.memory, "the same history gives the same text"
    silent = Wave(full, Wave(full).leaves())
    assert (silent.memory["text"], silent.prompt()) == ("", "Be kind."), "nothing was said"


def test_a_reply_waits_for_the_summary_and_a_failed_one_is_recorded_and_invents_nothing() -> None:
    short = study("summary", max_chars=100)
    first = Wave(short).talk("I keep bees.").leaves()
    late = Wave(short, first).do("say", text="Hm?")
    assert (late.slots, late.actions, late.chat.waiting) == ([SLOT], ("stop",), True)
    late.hear(SLOT, "y" * 150, cost=2.0, version="n-1")
    assert (late.slots, spent(late.state)) == (["a", "b"], 2.0)
    assert (late.memory["text"], late.memory["cut"], late.memory["version"]) == ("y" * 100, 50, "n-1")
    failed = Wave(short, first).fails("timeout_total", SLOT)
    assert failed.prompt() == "Be kind."
    assert (failed.memory["text"], failed.memory["failed"], failed.memory["from"]) == ("", "timeout_total", [])
    assert Wave(short, first).fails("stopped", SLOT).memory["failed"] == "time_limit"
    ((row,), known) = failed.table("memory"), late.table("memory")[0]
    assert (row["text"], row["failed"], known["model"], known["from_waves"]) == (None, "timeout_total", "notes", "w1")
    (visit,) = transcript_of(short, late.state.events).visits
    said = {one.kind: one.text for one in visit.remarks}
    assert said == {"recalled": "summary", "remembered": f"summary: {'y' * 100}"}


def test_a_summary_says_no_models_name_where_replies_may_not() -> None:
    raw = study("summary")
    hides = replace(raw, file=raw.file.model_copy(update={"on_identity_leak": "mask"}))
    second = Wave(hides, Wave(hides).talk("Hi").leaves()).hear(SLOT, "They asked ChatGPT.")
    assert (second.memory["text"], second.last.kind, second.last.data["words"]) == (
        "They asked […].", "flagged", ["ChatGPT"],
    )  # fmt: skip


def test_facts_are_used_as_the_participant_left_them_and_asked_about_once() -> None:
    known = study("facts", TALK, FACTS, second=(FACTS, TALK, {**FACTS, "id": "later"}))
    first = Wave(known).talk("I keep bees in Kiel.").leaves()
    assert (first.actions, first.slots, "I keep bees in Kiel." in first.prompts[0][1]) == ((), [SLOT], True)
    first.hear(SLOT, f"1. Keeps bees\n* Lives in Kiel\n\n- Keeps bees\n- Is {'x' * 400}")
    assert [len(field.proposed) for field in first.screen.panel.fields] == [10, 13, FACT_CHARS]  # type: ignore[attr-defined]
    with pytest.raises(Refused):
        first.do(fact_1="z" * (FACT_CHARS + 1))
    first.do(fact_1="Keeps bees", fact_2="Lives in Lübeck", fact_3="")
    assert first.memory["text"] == "- Keeps bees\n- Lives in Lübeck"
    assert [one["fate"] for one in first.memory["checked"]] == ["confirmed", "edited", "deleted"]
    second = Wave(known, first)
    assert second.memory["facts"] == ["Keeps bees", "Lives in Lübeck"]
    assert (second.slots, second.actions) == ([], ("submit",)), "nothing new was said"
    second.do(fact_1="Keeps bees", fact_2="").talk("I sold them.").leaves()
    assert "I sold them." in second.prompts[0][1]
    assert "Kiel" not in second.prompts[0][1]
    second.fails("timeout_total", SLOT)
    assert ([field.name for field in second.screen.panel.fields], second.last.data["failed"]) == (
        ["fact_1"],
        "timeout_total",
    )
    second.do(fact_1="Kept bees")
    assert Wave(known, first, second).memory["text"] == "- Kept bees"
    asked = [(row["path"], row["question"], row["value"]) for row in second.table("answers") if row["step"] == "facts"]
    assert asked == [
        ("w2/facts", "fact_1", "Keeps bees"),
        ("w2/facts", "fact_2", None),
        ("w2/later", "fact_1", "Kept bees"),
    ]
    *_, row = second.table("memory")
    assert json.loads(row["statements"]) == [
        {"proposed": "Keeps bees", "text": "Kept bees", "fate": "edited", "from": ["w1"]}
    ]


def test_a_statement_keeps_the_wave_of_the_conversation_that_it_is_from() -> None:
    known = study("facts", TALK, FACTS, second=(TALK, FACTS))
    first = Wave(known).talk("I keep bees.").leaves().hear(SLOT, "- Keeps bees").do(fact_1="Keeps bees")
    second = Wave(known, first).talk("In Kiel.").leaves().hear(SLOT, "- Lives in Kiel")
    second.do(fact_1="Keeps bees", fact_2="Lives in Kiel")
    assert [one["from"] for one in second.memory["checked"]] == [["w1"], ["w2"]]
    assert Wave(known, first, second).memory["from"] == second.memory["from"] == ["w1", "w2"]
    second.memory["checked"][1]["text"] = second.memory["facts"][1] = "Keeps bees"
    third = Wave(known, first, second).talk("Still.").leaves().hear(SLOT, "NONE")
    assert third.do(fact_1="Keeps bees").memory["checked"][0]["from"] == ["w1", "w2"], "two became the same"
    left = Wave(known, first).talk("In Kiel.").leaves().hear(SLOT, "NONE").do(fact_1="Kept bees")
    assert Wave(known, first, left).memory["from"] == left.memory["from"] == ["w1"]


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no waves": ({"waves": None, "flow": [TALK, END]}, "memory"),
    "no such kind": ({"memory": {"kind": "all"}}, "memory.kind"),
    "no such model": ({"memory": {"kind": "summary", "model": "note"}}, "memory.model"),
    "no model": ({"memory": {"kind": "summary"}}, "memory.model"),
    "nobody confirms": ({"memory": {"kind": "facts", "model": "notes"}}, "memory"),
    "a value without one": ({"memory": {"kind": {"by": "arm", "pick": {"none": "none"}}}}, "memory.kind"),
    "no such factor": (
        {"memory": {"kind": {"by": "arms", "pick": {"none": "none", "full": "facts"}}, "model": "notes"}}
        | {"waves": [{"wave": "W1", "flow": [TALK, FACTS, END]}, {"wave": "W2", "flow": [TALK, END]}]},
        "memory.kind",
    ),
    "facts of no memory": ({"memory": None, "flow": [TALK, FACTS, END], "waves": None}, "memory"),
    "no later conversation": (
        {"waves": [{"wave": "W1", "flow": [TALK, END]}, {"wave": "W2", "flow": [END]}]}, "memory",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("keys", "where"), WRONG.values(), ids=WRONG)
def test_a_study_says_what_its_memory_lacks(keys: dict[str, Any], where: str) -> None:
    raw = {**study("transcript").file.model_dump(by_alias=True, exclude_none=True, exclude={"flow"}), **keys}
    raw = {name: value for name, value in raw.items() if value is not None}
    raw["factors"] = {"arm": ["none", "full"]}
    assert {*places(resolve, json.loads(json.dumps(raw, default=str)), {}, {})} == {where}
