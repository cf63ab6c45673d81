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


def test_a_set_may_be_named_by_factors() -> None:
    sets = {"open-desk": {"package": "desk"}, "shut-desk": {"package": "desk"}}
    compare = {"step": "compare", "models": ["one", "two"], "tools": "{{door}}-{{place}}"}
    keys = {"tools": sets, "models": ("one", "two")}
    assert small(compare, **keys, factors={"door": ["open", "shut"], "place": ["desk"]})
    with pytest.raises(StudyError) as caught:
        small(compare, **keys, factors={"door": ["open", "ajar"], "place": ["desk"]})
    assert [one.where for one in caught.value.found] == ["compare.tools"], "the other may be meant"
