"""Load every config of some folders with `datasets`: their rows, the types of the columns and the ClassLabels."""

import json
import sys
from tempfile import mkdtemp

import datasets


def load(folder, name):
    rows = datasets.load_dataset(folder, name, cache_dir=mkdtemp(), split="train")
    labels = {column: kind.names for column, kind in rows.features.items() if isinstance(kind, datasets.ClassLabel)}
    dtypes = {column: getattr(kind, "dtype", None) for column, kind in rows.features.items()}
    return {"labels": labels, "dtypes": dtypes, "rows": list(rows)}


def configs(folder):
    found = {name: load(folder, name) for name in datasets.get_dataset_config_names(folder)}
    return {"configs": found, "default": datasets.get_dataset_default_config_name(folder)}


datasets.disable_progress_bars()
print(json.dumps({folder: configs(folder) for folder in sys.argv[1:]}))
