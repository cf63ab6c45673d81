"""A set of tools that a conversation cannot have."""

from __future__ import annotations

import pytest

from experiments.errors import StudyError
from tests.fakes.driven import small

SETS = {"desk": {"package": "desk"}, "till": {"package": "desk", "writes": ["pay"]}}


def test_columns_have_no_tools_that_change_something() -> None:
    columns = {"step": "compare", "models": ["one", "two"]}
    other = {"step": "compare", "id": "other", "models": ["one", "two"], "tools": {"by": "arm", "pick": {"x": "desk"}}}
    keys = {"tools": SETS, "models": ("one", "two"), "factors": {"arm": ["x"]}}
    with pytest.raises(StudyError) as caught:
        small({**columns, "tools": "till"}, other, **keys)
    assert [one.where for one in caught.value.found] == ["compare.tools"]
    del keys["tools"]["till"]
    assert small({**columns, "tools": "desk"}, other, **keys)
