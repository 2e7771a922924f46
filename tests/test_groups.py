"""Tests that share something costly, or need room, run in one worker: that is what their group is for."""

import pytest


@pytest.mark.xdist_group("groups")
def test_groups_are_honoured(request: pytest.FixtureRequest) -> None:
    """A pair of pytest and pytest-xdist that do not fit drops them silently; the group is then not in the identity."""
    if not getattr(request.config.option, "loadgroup", False):
        pytest.skip("not distributed by groups")
    assert request.node.nodeid.endswith("@groups")
