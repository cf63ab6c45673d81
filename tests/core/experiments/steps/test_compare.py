"""Side by side: who stands where, when a vote may be given, whose history goes on, and that nobody is named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from experiments.errors import Refused, StudyError
from experiments.session.engine import pending_tasks
from experiments.study.study import Study
from tests.fakes.driven import Driven, small

MODELS = ("canary-one", "canary-two", "canary-three")


def battle(known: Sequence[str] = MODELS[:2], **keys: Any) -> Study:
    return small({"step": "compare", **keys}, models=known)


def rounds(play: Driven, *rounds: tuple[str, dict[str, Any]]) -> Driven:
    """A round for each message, with its vote."""
    for text, vote in rounds:
        play.do("say", text=text)
        for slot in play.slots:
            play.hear(slot, f"{text} {slot}")
        play.do("vote", **vote)
    return play


def test_left_and_right_are_drawn_about_evenly_and_logged() -> None:
    study, left = battle(), 0
    for seed in range(400):
        play = Driven(study, str(seed))
        drawn = play.state.events[-1].data["models"]
        play.do("say", text="Hello")
        assert sorted(drawn) == sorted(MODELS[:2])
        assert [job.data["model"] for job in pending_tasks(study, play.state)] == drawn
        left += drawn[0] == MODELS[0]
    assert 160 <= left <= 240, "four standard errors"


def test_all_columns_are_owed_at_once_and_a_vote_waits_for_all() -> None:
    play = Driven(battle(MODELS, columns=3))
    play.do("say", text="Hello")
    assert play.slots == ["a", "b", "c"]
    play.hear("b")
    assert play.slots == ["a", "c"]
    assert play.screen.actions == ("stop",)
    assert play.chat.slots == ("a", "c")
    with pytest.raises(Refused) as refused:
        play.do("vote", winner="b")
    assert refused.value.reason == "not_offered"
    play.hear("a")
    play.hear("c")
    assert play.screen.actions == ("vote",)
    with pytest.raises(Refused, match="Some answers"):
        play.do("vote", winner="d")
    play.do("vote", winner="c")
    assert play.screen.actions == ("say", "submit")
    assert play.chat.rounds[0].voted == "C is better"


def test_one_column_fails_and_is_tried_again_alone() -> None:
    play = Driven(battle())
    play.do("say", text="Hello")
    play.hear("a")
    play.fails(slot="b")
    assert play.screen.actions == ("retry", "submit")
    shown = play.chat.rounds[0].replies
    assert [reply.failed for reply in shown] == ["", "No reply could be generated. Your message is saved."]
    with pytest.raises(Refused):
        play.do("vote", winner="a")
    with pytest.raises(Refused, match="requested again"):
        play.do("retry", slot="a")
    play.do("retry", slot="b")
    assert play.slots == ["b"]
    play.hear("b")
    assert [event.kind for event in play.state.events].count("replied") == 2
    assert play.screen.actions == ("vote",)


def test_the_winners_history_goes_on_and_after_a_tie_each_ones_own() -> None:
    play = Driven(battle(continue_with="winner"))
    rounds(play, ("one", {"winner": "tie"}), ("two", {"winner": "b"}), ("three", {"winner": "bad"}))
    seen = ["one", "one b", "two", "two b", "three"]
    assert play.do("say", text="more").prompts == [[*seen, "three a", "more"], [*seen, "three b", "more"]]


@pytest.mark.parametrize(("scores", "onward"), [((3, 9), "b"), ((9, 3), "a"), ((5, 5), None)])
def test_scales_make_a_winner_where_one_is_best_alone(scores: tuple[int, int], onward: str | None) -> None:
    play = Driven(battle(vote="slider", continue_with="winner"))
    play.do("say", text="one")
    for slot in play.slots:
        play.hear(slot)
    with pytest.raises(Refused):
        play.do("vote", score_a="3")
    play.do("vote", score_a=str(scores[0]), score_b=str(scores[1]))
    assert play.state.events[-1].data.get("onward") == onward
    assert play.chat.rounds[0].voted == f"A: {scores[0]}, B: {scores[1]}"


@pytest.mark.parametrize(
    "keys",
    [
        *({"columns": 3}, {"models": ["canary-one", "canary-tow"]}, {"problem_in_prompt": True}),
        {"continue_with": "winner", "vote_when": "at_end"},
    ],
)
def test_a_comparison_that_cannot_be_is_refused(keys: dict[str, Any]) -> None:
    with pytest.raises(StudyError):
        battle(**keys)
