"""The files that the tests of the local page share."""

from __future__ import annotations

import pytest
from helpers.explorer_cases import open_client, store_cases

from symscreen.explorer.exploration import open_exploration


@pytest.fixture(scope="session")
def stored(tmp_path_factory):
    return store_cases(tmp_path_factory.mktemp("explorer"))


@pytest.fixture(scope="session")
def ranking(stored):
    return open_exploration(stored.ranking, stored.data)


@pytest.fixture(scope="session")
def client(ranking):
    return open_client(ranking)
