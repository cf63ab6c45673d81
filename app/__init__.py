"""The application: participants' pages, researchers' console, command line, model backends, simulated participants."""

import os

# OpenBLAS reads it once, when numpy is imported. Its threads wait for each other by spinning, which takes many times as
# long where other processes want the cores; and a report that is computed beside must leave them to the participants.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # noqa: TID251
