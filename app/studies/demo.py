"""The demo study with a real model. Its file has scripted ones, which need nothing that may not be installed."""

import json

from app.backends.llama import SMOLLM2
from experiments.study.resolve import restore
from experiments.study.study import Study

MAX_TOKENS = 250
# Without them so small a model may repeat a word or a line until it is cut.
AGAINST_REPETITION = {"repeat_penalty": 1.1, "dry_multiplier": 0.8}
TEMPERATURES = {"careful": 0.2, "hasty": 1.0}


def with_local_model(study: Study) -> Study:
    """The demo study with the tiny model of this computer in place of the scripted ones; its hash is its own."""
    document = json.loads(study.document)
    for name, model in document["file"]["models"].items():
        model |= {"backend": "llama", "model": SMOLLM2, "options": {"extra": AGAINST_REPETITION}}
        model |= {"max_tokens": MAX_TOKENS, "temperature": TEMPERATURES[name]}
    return restore(json.dumps(document))
