"""Rank the models of an export's votes as `arena-rank`'s README does: ratings with 95 % intervals, by model."""

import json
import sys
from tempfile import mkdtemp

import datasets
from arena_rank.models.bradley_terry import BradleyTerry
from arena_rank.utils.data_utils import PairDataset

votes = datasets.load_dataset(sys.argv[1], cache_dir=mkdtemp(), split="train")
winner = votes.features["winner"]
frame = votes.select_columns(["model_a", "model_b", "winner"]).to_pandas()
frame["winner"] = [winner.int2str(code) for code in frame["winner"]]
pairs = PairDataset.from_pandas(frame)
found = BradleyTerry(n_competitors=len(pairs.competitors)).compute_ratings_and_cis(pairs, significance_level=0.05)
columns = ("ratings", "rating_lower", "rating_upper")
ranked = {model: [float(found[name][n]) for name in columns] for n, model in enumerate(found["competitors"])}
print(json.dumps({"ranked": ranked, "votes": len(frame), "columns": votes.column_names}))
