"""Write a log of Inspect from the values in a file, and read it back, and a file of scores."""

import json
import sys
from pathlib import Path

from inspect_ai.log import EvalLog, read_eval_log, write_eval_log
from inspect_ai.scorer import precomputed_scores

values, scores = map(Path, sys.argv[1:])
log = EvalLog.model_validate_json(values.read_bytes())
read = []
for ending in ("eval", "json"):
    file = values.with_name(f"log.{ending}")
    write_eval_log(log, str(file))
    read.append(json.loads(read_eval_log(str(file)).model_dump_json(include={"status", "samples"})))
precomputed_scores(str(scores))
print(json.dumps(read))
