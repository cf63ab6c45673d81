"""Score results by tau2's own evaluator; without arguments, print where its domains are."""

import json
import sys
from pathlib import Path

import tau2
from tau2.data_model.simulation import Results
from tau2.evaluator.evaluator import EvaluationType, evaluate_simulation
from tau2.utils.utils import DATA_DIR

if not sys.argv[1:]:
    print(json.dumps({"domains": str(Path(DATA_DIR) / "tau2" / "domains"), "code": tau2.__file__}))
    sys.exit()
scored = {}
for file in map(Path, sys.argv[1:]):
    results = Results.model_validate_json(file.read_bytes())
    tasks = {task.id: task for task in results.tasks}
    for simulation in results.simulations:
        found = evaluate_simulation(
            simulation=simulation,
            task=tasks[simulation.task_id],
            evaluation_type=EvaluationType.ALL,
            solo_mode=False,
            domain=results.info.environment_info.domain_name,
        )
        basis = {part.value: value for part, value in (found.reward_breakdown or {}).items()}
        scored[simulation.id] = {"reward": found.reward, "parts": basis}
print(json.dumps(scored))
