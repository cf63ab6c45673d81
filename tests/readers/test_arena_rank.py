"""LMArena's own ranking reads the arena's votes as released in 2025, and ranks the models of a simulated study."""

from __future__ import annotations

import json

import pytest

from storage.schemas.registry import schema
from tests.readers.conftest import ExportOf, RunReader

pytestmark = pytest.mark.nightly

SESSIONS = 6
# The columns of lmarena-ai/arena-human-preference-140k, in order.
RELEASED = (
    "id,model_a,model_b,winner,evaluation_session_id,evaluation_order,conversation_a,conversation_b,"
    "full_conversation,conv_metadata,category_tag,language,is_code,timestamp"
)


def test_arena_rank_ranks_the_models(export_of: ExportOf, run_reader: RunReader) -> None:
    folder = export_of("arena", "arena-2025", SESSIONS)
    votes = json.loads((folder / "arena_human_preference.json").read_bytes())
    read = run_reader("rank_models", folder)
    assert read["votes"] == len(votes) > SESSIONS
    assert read["columns"] == RELEASED.split(",") == list(schema("arena-2025").tables[0].header)
    ranked = read["ranked"]
    assert ranked.keys() == {vote[f"model_{side}"] for vote in votes for side in "ab"} == {"careful", "hasty"}
    assert all(low < rating < high for rating, low, high in ranked.values())
    points = {model: 0.0 for model in ranked}
    for vote in votes:
        for side in "ab":
            tie = vote["winner"] in ("tie", "both_bad")
            points[vote[f"model_{side}"]] += 0.5 if tie else vote["winner"] == f"model_{side}"
    assert (ranked["careful"][0] > ranked["hasty"][0]) == (points["careful"] > points["hasty"])
