"""Encode every row of a csv of DICES (`350` or `990`, then its path) by the builder of tensorflow-datasets.

Prints the rows as they were encoded, by feature: labels by their names, and texts and numbers as they are.
"""

import json
import sys
from tempfile import mkdtemp

from tensorflow_datasets.core.features import ClassLabel, Sequence
from tensorflow_datasets.datasets.dices.dices_dataset_builder import Builder


def plain(feature, value):
    if isinstance(feature, ClassLabel):
        return feature.int2str(int(value))
    if isinstance(feature, Sequence):
        return [plain(feature.feature, one) for one in value]
    return value.item()


name, path = sys.argv[1:]
builder = Builder(config=name, data_dir=mkdtemp())
features = builder.info.features
encoded = [features.encode_example(row) for _, row in builder._generate_examples(path)]
print(json.dumps([{key: plain(features[key], value) for key, value in row.items()} for row in encoded]))
