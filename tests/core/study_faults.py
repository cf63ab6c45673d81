"""A small sound study, and what can be wrong with it: each change, and the words that must be said of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

SOUND: dict[str, Any] = {
    "study": "small",
    "title": "A small study",
    "problems": {"questions": {"source": "chatbench"}},
    "models": {"tutor": {"backend": "scripted"}},
    "factors": {"condition": ["answer-first", "direct-to-AI"]},
    "flow": [
        {"step": "consent", "text": "Please agree."},
        {
            "phase": "Phase 1",
            "flow": [
                {
                    "each": "question",
                    "of": "questions",
                    "take": 2,
                    "do": {"by": "condition", "pick": {"answer-first": "answer-first", "direct-to-AI": "direct-to-AI"}},
                }
            ],
        },
        {"step": "survey", "id": "last", "questions": [{"type": "short_text", "name": "word", "text": "A word?"}]},
        {"step": "finish", "code": "DONE"},
    ],
}


def put(*path: Any, value: Any) -> Callable[[dict[str, Any]], None]:
    """A change: set what stands at a path, or remove it where the value is ...."""

    def change(raw: dict[str, Any]) -> None:
        for part in path[:-1]:
            raw = raw[part]
        if value is ...:
            del raw[path[-1]]
        else:
            raw[path[-1]] = value

    return change


def of_dices(question: dict[str, Any]) -> Callable[[dict[str, Any]], None]:
    """A change: fill DICES's table, and ask this."""

    def change(raw: dict[str, Any]) -> None:
        raw["export_schemas"] = ["dices-350"]
        raw["flow"][0] = {"step": "survey", "questions": [question]}

    return change


def pools_of(*questions: str) -> dict[str, Any]:
    """A pool with each question, all of one id: `a`, `b` and so on."""
    items = [{"id": "q1", "question": text, "options": ["3", "4"], "answer": "A"} for text in questions]
    return {name: {"items": [item]} for name, item in zip("abc", items, strict=False)}


EACH = ("flow", 1, "flow", 0)
INFO = {"step": "info", "text": "Read."}
TARGET = {"each": "question", "of": "questions", "take": 2, "target": 5, "flow": [INFO]}
HEDGING = {
    "model": "tutor",
    "prompt": "How sure? {{conversation}}",
    "answer_schema": {"type": "object", "properties": {"sure": {"type": "boolean"}}},
}
FAULTY = {
    "an unknown key, with the one that was meant": (
        put("contakt", value="me@example.org"),
        ["contakt: no such key", "Did you mean 'contact'?"],
    ),
    "a missing title": (put("title", value=...), ["title: is missing"]),
    "a blank title": (put("title", value=" "), ["title: is blank"]),
    "a blank consent form": (put("flow", 0, "text", value=""), ["flow[0].text: is blank"]),
    "a button without a label": (put("flow", 2, "button", value=" "), ["flow[2].button: is blank"]),
    "a blank heading of a phase": (
        put("flow", 1, value={"phase": " ", "id": "one", "flow": [{"step": "info", "text": "Read."}]}),
        ["flow[1].phase: is blank"],
    ),
    "an option without a label": (
        put(
            *("flow", 2, "questions", 0),
            value={"type": "single_choice", "name": "x", "text": "?", "options": {"a": "A", "b": ""}},
        ),
        ["flow[2]: 'x': the label of the option 'b' is blank"],
    ),
    "a Latin square that fits into no memory": (
        put(*EACH, value={"each": "q", "of": "questions", "take": 10**12, "order": "latin_square", "flow": [INFO]}),
        ["flow[1].flow[0].order: a Latin square of 1000000000000 is too large"],
    ),
    "one author where a list of them goes": (
        put("dataset", value={"authors": "Foo"}),
        ["dataset.authors: 'Foo': should be a list, such as `[one, two]`"],
    ),
    "a text where keys go": (
        put("dataset", value={"authors": ["Foo"]}),
        ["dataset.authors[0]: 'Foo': should be keys with values, such as `key: value`"],
    ),
    "an annotator's unknown model": (
        put("annotators", value={"tone": HEDGING | {"model": "tuter"}}),
        ["annotators.tone.model: no model is called 'tuter'", "Did you mean 'tutor'?", "BACKEND:NAME"],
    ),
    "an annotator that judges nothing": (
        put("annotators", value={"tone": HEDGING | {"prompt": "How sure?"}}),
        ["annotators.tone.prompt: 'How sure?': contains neither {{conversation}}, {{transcript}}"],
    ),
    "an annotator whose answer is no object": (
        put("annotators", value={"tone": HEDGING | {"answer_schema": {"type": "string"}}}),
        ["annotators.tone.answer_schema: must be of `type: object`"],
    ),
    "an unknown step": (
        put("flow", 0, value={"step": "consnt"}),
        ["flow[0]: no step is called 'consnt'", "'consent'?"],
    ),
    "a node that is nothing": (
        put("flow", 0, value={"text": "hm"}),
        ["flow[0]: is neither a step, a phase nor an each"],
    ),
    "an unknown key of a step": (
        put("flow", 2, "questons", value=[]),
        ["flow[2].questons: no such key", "Did you mean 'questions'?"],
    ),
    "an unknown kind of question": (
        put("flow", 2, "questions", 0, "type", value="shrt_text"),
        ["flow[2].questions[0]: no question type is called 'shrt_text'", "Did you mean 'short_text'?"],
    ),
    "a key of other kinds of questions": (
        put("flow", 2, "questions", 0, value={"type": "number", "name": "x", "text": "?", "matrix": "T"}),
        ["flow[2].questions[0].matrix: no such key here, but with `type: scale` or `single_choice`", "allowed: help"],
    ),
    "a choice without options": (
        put("flow", 2, "questions", 0, value={"type": "single_choice", "name": "x", "text": "?"}),
        ["flow[2].questions[0]: needs at least two options"],
    ),
    "an unknown scale": (
        put("flow", 2, "questions", 0, value={"type": "scale", "scale": "helpfullness"}),
        ["no scale is called 'helpfullness'", "Did you mean 'helpfulness'?"],
    ),
    "two questions of one name": (
        put("flow", 2, "questions", value=[{"type": "short_text", "name": "w"}, {"type": "long_text", "name": "w"}]),
        ["flow[2]: two questions are called 'w'"],
    ),
    "an unknown protocol": (
        put(*EACH, "do", value="answer-frist"),
        ["flow[1].flow[0].do: no protocol is called 'answer-frist'", "Did you mean 'answer-first'?"],
    ),
    "another version of a protocol": (
        put(*EACH, "do", value="answer-first@7"),
        ["'answer-first' is at version 1, not '7'", "answer-first@1"],
    ),
    "a change to a protocol that it cannot have": (
        put(*EACH, "with", value={"with_ai": {"max_mesages": 3}}),
        ["flow[1].flow[0].with.with_ai.max_mesages: no such key"],
    ),
    "a change to a step that the protocol does not have": (
        put(*EACH, "with", value={"chatt": {"max_messages": 3}}),
        ["flow[1].flow[0].with", "'chatt'"],
    ),
    "a condition without a protocol": (
        put(*EACH, "do", "pick", value={"answer-first": "answer-first"}),
        ["has no protocol for condition = 'direct-to-AI'"],
    ),
    "a factor that is not there": (
        put(*EACH, "do", "by", value="conditon"),
        ["no factor is called 'conditon'", "Did you mean 'condition'?"],
    ),
    "an unknown pool": (
        put(*EACH, "of", value="question"),
        ["no pool of problems is called 'question'", "Did you mean 'questions'?"],
    ),
    "two problems of one id": (
        put("problems", value={**SOUND["problems"], **pools_of("1 + 2?", "1 · 3?")}),
        ["problems.b: the id 'q1' is that of another problem in 'a'"],
    ),
    "more problems than there are": (put(*EACH, "take", value=61), ["61 is more than the 60 problems of 'questions'"]),
    "a target for groups": (
        put(*EACH, value={"each": "subject", "of": "questions.subject", "take": 1, "target": 5, "flow": [INFO]}),
        ["flow[1].flow[0].target: counts problems", "over groups (questions.subject)", "`of: questions`"],
    ),
    "a target where all is given to everybody": (
        put(*EACH, value={"each": "question", "of": "questions", "target": 5, "flow": [INFO]}),
        ["flow[1].flow[0].target: needs `take` or `up_to`"],
    ),
    "a target for a loop without chance": (
        put(*EACH, value={**TARGET, "order": "listed"}),
        ["flow[1].flow[0].target", "does not go with `order: listed`"],
    ),
    "a target over strata": (
        put(*EACH, value={**TARGET, "strata": "dataset"}),
        ["flow[1].flow[0].target: does not go with `strata`"],
    ),
    "a target of nothing": (put(*EACH, "target", value=0), ["flow[1].flow[0].target: 0"]),
    "a tag that no problem has": (
        put(*EACH, "where", value={"topik": "x"}),
        ["no problem of 'questions' has the tag 'topik'"],
    ),
    "a name that means nothing": (
        put("flow", 2, "text", value="You are in {{conditoin}}."),
        ["flow[2]: {{conditoin}} is not defined here", "Did you mean 'condition'?"],
    ),
    "a condition on what comes later": (
        put("flow", 0, "when", value={"last.word": "x"}),
        ["flow[0].when: 'last.word' is not defined here"],
    ),
    "two steps of one id": (put("flow", 2, "id", value="consent"), ["'consent' is the id of an earlier step"]),
    "an end that is not for everybody": (
        put("flow", 3, "when", value={"condition": "answer-first"}),
        ["flow[3].when: the last `finish` must not have a condition"],
    ),
    "an option listed twice": (
        put("flow", 2, "questions", 0, value={"type": "single_choice", "name": "x", "options": ["a", "a", "b"]}),
        ["flow[2].questions[0]", "the option 'a' is listed twice"],
    ),
    "a range without room": (
        put("flow", 2, "questions", 0, value={"type": "number", "name": "x", "minimum": 10, "maximum": 3}),
        ["flow[2].questions[0]: minimum 10 is above maximum 3"],
    ),
    "a tag's value that no problem has": (
        put(*EACH, "where", value={"subject": "maths"}),
        ["flow[1].flow[0].where: no problem of 'questions' has subject 'maths'", "Did you mean 'math'?"],
    ),
    "no end": (put("flow", 3, value=...), ["must end with a `finish` step"]),
    "an unknown backend": (
        put("models", "tutor", "backend", value="scriptd"),
        ["models.tutor.backend: no backend is called 'scriptd'", "Did you mean 'scripted'?"],
    ),
    "a server in place of a backend": (
        put("models", "tutor", "backend", value="ollama"),
        ["models.tutor.backend", "`backend: openai, server: ollama`", '{"url": "http://127.0.0.1:11434/v1"}'],
    ),
    "a backend of which nothing is known": (
        put("models", "tutor", "backend", value="groq"),
        ["models.tutor.backend", "`backend: openai` with `server: NAME`", "PARLEY_MODEL_SERVERS"],
    ),
    "an option that the backend does not know": (
        put("models", "tutor", "options", value={"wrnog": 1}),
        ["models.tutor", "wrnog", "Did you mean 'wrong'?"],
    ),
    "no model to reply": (put("models", value={}), ["needs a model"]),
    "a model that is not there": (put("factors", "model", value=["tuto"]), ["no model is called 'tuto'", "'tutor'?"]),
    "an unknown schema": (
        put("export_schemas", value=["chatbnch"]),
        ["no schema is called 'chatbnch'", "'chatbench'?"],
    ),
    "a source that is not there": (
        put("problems", "questions", "source", value="chatbensh"),
        ["problems.questions", "chatbench"],
    ),
    "a file that is not there": (
        put("problems", "questions", "path", value="none.csv"),
        ["problems.questions", "none.csv"],
    ),
    "a temperature out of range": (put("models", "tutor", "temperature", value=9), ["models.tutor.temperature: 9"]),
    "a factor of no kind": (
        put("factors", "condition", value={"levels": ["a", "b"]}),
        ["factors.condition.levels: input should be a valid number"],
    ),
    "more cells than are balanced": (
        put("factors", value={f"f{n}": [f"v{m}" for m in range(10)] for n in range(20)}),
        ["factors: f0, f1,", "more than 2,000", "from 'f3' on"],
    ),
    "a weight beyond measure": (
        put("factors", "condition", value={"a": 1e308, "b": 1e308}),
        ["factors.condition", "1000000"],
    ),
    "weights that draw nothing": (put("factors", "condition", value={"a": 0}), ["no value that can be drawn"]),
    "a rating of problems that are no conversations": (
        put(*EACH, "do", value="static-safety"),
        ["a 'rate_dialogue' step needs finished conversations that end with the chatbot"],
    ),
    "labels for problems that are no conversations": (
        put(*EACH, "do", value="label-turns"),
        ["a 'label_turns' step needs finished conversations, such as those of the source dices"],
    ),
    "an edition that is not there": (
        put("flow", 0, value={"step": "rate_dialogue", "edition": "dices-351"}),
        ["flow[0].edition: 'dices-351'", "'dices-350' or 'dices-990'"],
    ),
    "an answer that DICES does not have": (
        of_dices({"type": "single_choice", "name": "rater_age", "options": ["gen z", "boomer"]}),
        ["flow[0]: 'boomer' is no value of 'rater_age' in DICES", "gen x+, gen z, millenial"],
    ),
    "a race in DICES that is not chosen": (
        of_dices({"type": "short_text", "name": "rater_raw_race", "text": "Race?"}),
        ["flow[0]: asks 'rater_raw_race', a column of DICES, without options", "Black or African American"],
    ),
    "a chat where there is no problem": (
        put("flow", 0, value={"step": "chat"}),
        ["a 'chat' step must be inside an `each`"],
    ),
    "an unknown key of what models are asked alone": (
        put("ai_alone", value={"exmples": "questions"}),
        ["ai_alone.exmples: no such key", "Did you mean 'examples'?"],
    ),
    "a temperature alone that is out of range": (
        put("ai_alone", value={"temperature": 9}),
        ["ai_alone.temperature: 9"],
    ),
    "examples from an unknown pool": (
        put("ai_alone", value={"examples": "question"}),
        ["ai_alone.examples: no pool of problems is called 'question'", "Did you mean 'questions'?"],
    ),
    "an extractor that is no model": (
        put("ai_alone", value={"extractor": "tuto"}),
        ["ai_alone.extractor: no model is called 'tuto'", "Did you mean 'tutor'?", "`backend:name`"],
    ),
    "a subject of a dataset that is not there": (
        put("ai_alone", value={"dataset_labels": {"elementary_maths": "sums"}}),
        [
            "ai_alone.dataset_labels.elementary_maths: no problem is of the dataset",
            "Did you mean 'elementary_mathematics'?",
        ],
    ),
    "an extraction that reads nothing": (
        put("ai_alone", value={"prompts": {"extraction": "What does {{repli}} say?"}}),
        [
            "ai_alone.prompts.extraction: {{repli}} is not defined here",
            "Did you mean 'reply'?",
            "does not contain {{reply}}",
        ],
    ),
    "a simulator that is not told what was said": (
        put("simulator_prompts", value={"next": "Go on: {{conversaton}}", "first": "Begin with {{reply}}."}),
        [
            "simulator_prompts.next: {{conversaton}} is not defined here",
            "Did you mean 'conversation'?",
            "simulator_prompts.next: does not contain {{conversation}}",
            "simulator_prompts.first: {{reply}} is not defined here",
        ],
    ),
}
