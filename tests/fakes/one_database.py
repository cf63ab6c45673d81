"""One kind of database in a short run, and each kind with --soak."""

import pytest

# For what is the same on each kind, once its statements are known to work on both.
one_database = pytest.mark.parametrize(
    "database_url", ["sqlite", pytest.param("postgresql", marks=pytest.mark.soak)], indirect=True
)
