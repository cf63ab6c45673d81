"""Load every config of a folder with `datasets`: its columns with their features, rows and first row."""

import json
import sys
from tempfile import mkdtemp

import datasets

folder = sys.argv[1]
found = {}
for name in datasets.get_dataset_config_names(folder):
    rows = datasets.load_dataset(folder, name, cache_dir=mkdtemp(), split="train")
    labels = {column: kind.names for column, kind in rows.features.items() if isinstance(kind, datasets.ClassLabel)}
    dtypes = {column: getattr(kind, "dtype", None) for column, kind in rows.features.items()}
    found[name] = {"labels": labels, "dtypes": dtypes, "rows": list(rows)}
print(json.dumps({"configs": found, "default": datasets.get_dataset_default_config_name(folder)}))
