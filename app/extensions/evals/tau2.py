"""Results of tau2-bench 1.0.1: people's conversations about tasks, which its own evaluator scores.

A file has the conversations of a domain, model and condition, as in tau2 it has those of an agent. People have the role
`user`; those who met the same task are its trials, from 0. Calls that a participant refused, or that could not be made,
are no calls there, as the evaluator would make them again: `raw_data` has them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from app.errors import SettingsError
from app.extensions.evals.inspect import moment
from app.extensions.evals.samples import exported_sessions
from experiments.events import Event
from experiments.session.conversation import SPEAKERS
from experiments.session.model_conversation import ModelConversation
from experiments.session.tool_calls import CALLED, ToolRound, tool_rounds
from experiments.study.location import Location
from experiments.views.rewards import DB, Reward, reward_at
from problems.problem import Problem
from problems.tau2 import POLICY_TAG, task_of
from storage.datasets.exports.plan import ExportRequest
from storage.datasets.tidy.columns import Layout, session_id
from storage.datasets.tidy.rows import TidySession
from storage.db.engine import Database
from storage.db.private_files import writing

# Why a conversation is over, by the event that ended it.
REASONS: Mapping[str, str] = {"submitted": "user_stop", "expired": "timeout", "skipped": "agent_error"}
TOKENS = ("prompt_tokens", "completion_tokens")
ODD = re.compile(r"[^\w.-]+")


def task_results(database: Database, request: ExportRequest, made_us: int) -> Mapping[str, Mapping[str, Any]]:
    """The results by the name of their file; raises StorageError, and SettingsError if there is no conversation."""
    found: dict[str, dict[str, Any]] = {}
    for record, layout in exported_sessions(database, request):
        for place in record.places.steps:
            reward, problem = reward_at(place), place.scope.problem
            if reward is not None and problem is not None:
                condition = (problem.dataset, _model(place), *record.state.factors.values())
                name = ODD.sub("_", "-".join(condition))
                results = found.setdefault(name, _results(record, place, problem, made_us))
                _add(results, problem, _simulation(record, layout, place, problem, reward))
    if not found:
        raise SettingsError(
            f"{request.study}: no conversation about a task of tau2 is over, so there is nothing to write."
        )
    return found


def write_results(found: Mapping[str, Mapping[str, Any]], folder: Path) -> Iterator[tuple[Path, int]]:
    folder.mkdir(parents=True, exist_ok=True)
    for name, results in found.items():
        file = folder / f"{name}.json"
        with writing(file) as stream:
            stream.write(json.dumps(results, ensure_ascii=False, indent=2).encode())
        yield file, len(results["simulations"])


def _model(location: Location) -> str:
    return next((str(event.data["model"]) for event in location.facts if event.data.get("model")), "none")


def _results(record: TidySession, location: Location, problem: Problem, made_us: int) -> dict[str, Any]:
    node = location.node
    limits = (node.max_messages, node.on_failure.after_retries) if isinstance(node, ModelConversation) else (0, 0)
    return {
        "timestamp": moment(made_us),
        "info": {
            "git_commit": f"study {record.study.hash}",
            "num_trials": 0,
            "max_steps": limits[0],
            "max_errors": limits[1],
            "user_info": {"implementation": record.seat["origin"]},
            "agent_info": {"implementation": "parley", "llm": _model(location), "llm_args": dict(record.state.factors)},
            "environment_info": {"domain_name": problem.dataset, "policy": problem.tags[POLICY_TAG]},
        },
        "tasks": [],
        "simulations": [],
    }


def _add(results: dict[str, Any], problem: Problem, simulation: dict[str, Any]) -> None:
    trial = sum(one["task_id"] == problem.id for one in results["simulations"])
    results["simulations"].append({**simulation, "trial": trial})
    results["info"]["num_trials"] = max(trial + 1, results["info"]["num_trials"])
    if not trial:
        results["tasks"].append(task_of(problem))


def _simulation(
    record: TidySession, layout: Layout, location: Location, problem: Problem, reward: Reward
) -> dict[str, Any]:
    seed, facts = record.state.seed, location.facts
    reason = next(REASONS[event.kind] for event in facts if event.kind in REASONS)
    if reason == "user_stop" and any(event.data.get("ended_by") for event in facts):
        reason = "agent_stop"
    about = {"participant": layout.ids["participant"](seed), "session": session_id(seed), "path": location.path}
    return {
        "id": f"{session_id(seed)}-{ODD.sub('_', location.path)}",
        "task_id": problem.id,
        "timestamp": moment(facts[0].at_us),
        "start_time": moment(facts[0].at_us),
        "end_time": moment(facts[-1].at_us),
        "duration": (facts[-1].at_us - facts[0].at_us) / 1e6,
        "termination_reason": reason,
        "agent_cost": sum(event.data.get("cost") or 0 for event in facts),
        "reward_info": _reward(reward),
        "messages": [{**message, "turn_idx": turn} for turn, message in enumerate(_messages(facts))],
        "info": about,
    }


def _reward(reward: Reward) -> dict[str, Any] | None:
    if reward.reward is None:
        return None
    known: dict[str, Any] = {"reward": float(reward.reward), "reward_basis": None}
    if reward.ended:
        parts = {part: float(value or 0) for part, value in reward.parts.items()}
        known |= {"reward_basis": list(parts), "reward_breakdown": parts}
        known |= {"db_check": {"db_match": parts[DB] == 1, "db_reward": parts[DB]}} if DB in parts else {}
    return known


def _messages(facts: Sequence[Event]) -> Iterator[dict[str, Any]]:
    rounds = {one.called.seq: one for one in tool_rounds(facts)}
    told = ((event, rounds.get(event.seq)) for event in facts if event.kind in (*SPEAKERS, CALLED))
    return chain.from_iterable(_round(found) if found else (_message(event),) for event, found in told)


def _message(event: Event) -> dict[str, Any]:
    speaker = SPEAKERS.get(event.kind, "assistant")
    message = {"role": speaker, "content": event.data.get("text") or None, "timestamp": moment(event.at_us)}
    if speaker == "assistant" and event.data.get("total_us") is not None:
        tokens = {name: event.data[name] for name in TOKENS if event.data.get(name) is not None}
        message |= {"cost": event.data.get("cost"), "usage": tokens or None}
        message |= {"generation_time_seconds": event.data["total_us"] / 1e6}
    return message


def _round(found: ToolRound) -> Iterator[dict[str, Any]]:
    calls = [
        {"id": call.id, "name": call.tool, "arguments": json.loads(call.arguments or "{}"), "requestor": "assistant"}
        for call in found.calls
        if call.made
    ]
    unmade = [{"name": c.tool, "arguments": c.arguments, "result": c.result} for c in found.calls if not c.made]
    raw = {"raw_data": {"not_made": unmade}} if unmade else {}
    yield {**_message(found.called), "tool_calls": calls or None, **raw}
    for call in found.calls:
        if call.made and call.end is not None:
            result = {"content": call.result, "error": "failed" in call.end.data, "timestamp": moment(call.end.at_us)}
            yield {"role": "tool", "id": call.id, "requestor": "assistant", **result}
