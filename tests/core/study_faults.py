"""A small sound study, and what can be wrong with it: a path, what is put there, and where the errors are."""

from __future__ import annotations

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


INFO = {"step": "info", "text": "Read."}
HEDGING = {
    "model": "tutor",
    "prompt": "How sure? {{conversation}}",
    "answer_schema": {"type": "object", "properties": {"sure": {"type": "boolean"}}},
}
RULE = {"name": "asks", "must": "question"}
JUDGE = {"name": "calm", "must": "judge", "annotator": "tone", "value": "sure", "one_of": ["true"]}
FAULTS: tuple[tuple[Any, ...], ...] = (
    ("fidelity", [{"name": "asks"}, RULE | {"must": "qestion"}, RULE], "fidelity[0]", "fidelity[1].must"),
    ("fidelity", [RULE | {"where": {"conditon": "x"}}], "fidelity[0].where"),
    ("fidelity", [RULE | {"where": {"condition": "x"}}], "fidelity[0].where"),
    ("fidelity", [RULE | {"where": {"model": "x"}}, RULE], "fidelity", "fidelity[0].where"),
    ("fidelity", [RULE | {"maximum": 3}], "fidelity[0]"),
    ("fidelity", [RULE | {"must": "words"}], "fidelity[0]"),
    ("fidelity", [RULE | {"must": "words", "minimum": 3, "maximum": 2}], "fidelity[0]"),
    ("fidelity", [RULE | {"must": "pattern", "pattern": "("}], "fidelity[0].pattern"),
    ("fidelity", [RULE | {"must": "language", "language": "tlh"}], "fidelity[0]"),
    ("fidelity", [JUDGE], "fidelity[0].annotator"),
    ("fidelity", [JUDGE | {"ask_again": 1}], "fidelity[0]"),
    ("fidelity", [RULE | {"wait": True}], "fidelity[0]"),
    ("contakt", "me@example.org", "contakt"),
    ("title", ..., "title"),
    ("title", " ", "title"),
    (
        "flow.2.questions.0",
        {"type": "single_choice", "name": "x", "text": "?", "options": {"a": "A", "b": ""}},
        "flow[2]",
    ),
    (
        "flow.1.flow.0",
        {"each": "q", "of": "questions", "take": 1000000000000, "order": "latin_square", "flow": [INFO]},
        "flow[1].flow[0].take",
        "flow[1].flow[0].order",
    ),
    ("dataset", {"authors": "Foo"}, "dataset.authors"),
    ("annotators", {"tone": HEDGING | {"model": "tuter"}}, "annotators.tone.model"),
    ("annotators", {"tone": HEDGING | {"prompt": "How sure?"}}, "annotators.tone.prompt"),
    ("annotators", {"tone": HEDGING | {"answer_schema": {"type": "string"}}}, "annotators.tone.answer_schema"),
    ("flow.0", {"step": "consnt"}, "flow[0]"),
    ("flow.0", {"text": "hm"}, "flow[0]"),
    ("flow.2.questons", [], "flow[2].questons"),
    ("flow.2.questions.0.type", "shrt_text", "flow[2].questions[0]"),
    ("flow.2.questions.0", {"type": "number", "name": "x", "text": "?", "matrix": "T"}, "flow[2].questions[0].matrix"),
    ("flow.2.questions.0", {"type": "single_choice", "name": "x", "text": "?"}, "flow[2].questions[0]"),
    ("flow.2.questions.0", {"type": "scale", "scale": "helpfullness"}, "flow[2].questions[0].scale"),
    ("flow.2.questions", [{"type": "short_text", "name": "w"}, {"type": "long_text", "name": "w"}], "flow[2]"),
    ("flow.1.flow.0.do", "answer-frist", "flow[1].flow[0].do"),
    ("flow.1.flow.0.do", "answer-first@7", "flow[1].flow[0].do"),
    ("flow.1.flow.0.with", {"with_ai": {"max_mesages": 3}}, "flow[1].flow[0].with.with_ai.max_mesages"),
    ("flow.1.flow.0.with", {"chatt": {"max_messages": 3}}, "flow[1].flow[0].with"),
    ("flow.1.flow.0.do.pick", {"answer-first": "answer-first"}, "flow[1].flow[0].do.pick"),
    ("flow.1.flow.0.do.by", "conditon", "flow[1].flow[0].do.by"),
    ("flow.1.flow.0.of", "question", "flow[1].flow[0].of"),
    ("flow.1.flow.0.take", 61, "flow[1].flow[0].take"),
    (
        "flow.1.flow.0",
        {"each": "subject", "of": "questions.subject", "take": 1, "target": 5, "flow": [INFO]},
        "flow[1].flow[0].target",
    ),
    ("flow.1.flow.0", {"each": "question", "of": "questions", "target": 5, "flow": [INFO]}, "flow[1].flow[0].target"),
    (
        "flow.1.flow.0",
        {"each": "question", "of": "questions", "take": 2, "target": 5, "flow": [INFO], "order": "listed"},
        "flow[1].flow[0].target",
    ),
    (
        "flow.1.flow.0",
        {"each": "question", "of": "questions", "take": 2, "target": 5, "flow": [INFO], "strata": "dataset"},
        "flow[1].flow[0].target",
    ),
    ("flow.1.flow.0.target", 0, "flow[1].flow[0].target"),
    ("flow.1.flow.0.where", {"topik": "x"}, "flow[1].flow[0]"),
    ("flow.2.text", "You are in {{conditoin}}.", "flow[2].text"),
    ("flow.0.when", {"last.word": "x"}, "flow[0].when"),
    ("flow.2.id", "consent", "flow[2]"),
    ("flow.3.when", {"condition": "answer-first"}, "flow[3].when"),
    (
        "flow.2.questions.0",
        {"type": "single_choice", "name": "x", "options": ["a", "a", "b"]},
        "flow[2].questions[0].options",
    ),
    ("flow.2.questions.0", {"type": "number", "name": "x", "minimum": 10, "maximum": 3}, "flow[2].questions[0]"),
    ("flow.1.flow.0.where", {"subject": "maths"}, "flow[1].flow[0].where"),
    ("flow.3", ..., "flow"),
    ("models.tutor.backend", "scriptd", "models.tutor.backend"),
    ("models.tutor.backend", "ollama", "models.tutor.backend"),
    ("models.tutor.options", {"wrnog": 1}, "models.tutor"),
    ("models", {}, "flow[1].flow[0].flow[2]", "flow[1].flow[0].flow[4]"),
    ("factors.model", ["tuto"], "factors.model"),
    ("export_schemas", ["chatbnch"], "export_schemas"),
    ("problems.questions.source", "chatbensh", "problems.questions"),
    ("problems.questions.path", "none.csv", "problems.questions"),
    ("flow.0", {"step": "compare", "models": ["tuto", "tutor"]}, "flow[0].models[0]"),
    (
        "flow.1.flow.0",
        {"each": "question", "of": "questions", "take": 1, "flow": [{"step": "chat", "model": "tuto"}]},
        "flow[1].flow[0].flow[0].model",
    ),
    (
        "flow.1.flow.0",
        {
            "each": "question",
            "of": "questions",
            "take": 1,
            "vary": {"helper": ["tuto"]},
            "flow": [{"step": "chat", "model": "{{helper}}"}],
        },
        "flow[1].flow[0].flow[0]",
    ),
    ("models.tutor.temperature", 9, "models.tutor.temperature"),
    ("factors.condition", {"levels": ["a", "b"]}, "factors", "factors.condition.levels"),
    ("factors", {f"f{n}": [f"v{m}" for m in range(10)] for n in range(20)}, "factors", "flow[1].flow[0].do.by"),
    ("factors.condition", {"a": 1e308, "b": 1e308}, "factors", "factors.condition.a", "factors.condition.b"),
    ("factors.condition", {"a": 0}, "factors", "flow[1].flow[0].do.by"),
    ("flow.1.flow.0.do", "static-safety", "flow[1].flow[0].flow[0]"),
    ("flow.1.flow.0.do", "label-turns", "flow[1].flow[0].flow[0]"),
    ("flow.0", {"step": "rate_dialogue", "edition": "dices-351"}, "flow[0].edition"),
    ("flow.0", {"step": "chat"}, "flow[0]"),
    ("ai_alone", {"exmples": "questions"}, "ai_alone.exmples"),
    ("ai_alone", {"examples": "question"}, "ai_alone.examples"),
    ("ai_alone", {"extractor": "tuto"}, "ai_alone.extractor"),
    ("ai_alone", {"dataset_labels": {"elementary_maths": "sums"}}, "ai_alone.dataset_labels.elementary_maths"),
    ("ai_alone", {"prompts": {"extraction": "What does {{repli}} say?"}}, "ai_alone.prompts.extraction"),
    (
        "simulator_prompts",
        {"next": "Go on: {{conversaton}}", "first": "Begin with {{reply}}."},
        "simulator_prompts.next",
        "simulator_prompts.first",
    ),
)
DICES_FAULTS = (
    {"type": "single_choice", "name": "rater_age", "options": ["gen z", "boomer"]},
    {"type": "short_text", "name": "rater_raw_race", "text": "Race?"},
)
