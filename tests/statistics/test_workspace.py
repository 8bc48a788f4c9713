from __future__ import annotations

from copy import copy
from threading import Thread

import numpy as np

from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.statistics.workspace import ThreadWorkspaces, Workspace


def test_an_array_has_the_shape_and_kind_asked_for():
    workspace = Workspace()
    for shape, dtype in [((3, 4), np.float64), ((0, 7), np.int32), ((100,), np.bool_), ((2, 2), np.uint32)]:
        array = workspace.get_array("one", shape, dtype)
        assert array.shape == shape
        assert array.dtype == dtype
        assert array.flags.c_contiguous
        assert array.flags.writeable


def test_names_have_their_own_room_and_a_name_has_one():
    workspace = Workspace()
    first, other = workspace.get_array("one", (5, 5), np.int64), workspace.get_array("two", (5, 5), np.int64)
    assert not np.shares_memory(first, other)
    assert np.shares_memory(first, workspace.get_array("one", (2, 3), np.float64))


def test_blocks_in_one_room_are_what_they_are_alone(rng):
    workspace = Workspace()
    for m, n in [(5, 30), (9, 700), (2, 3), (9, 30), (4, 513)]:
        values = np.round(rng.normal(size=(m, n)), 2)
        values[0] = np.exp(50 * values[0])
        again, alone = sort_block(values, workspace), sort_block(values)
        for name in ("order", "doubled_ranks", "tied"):
            assert np.array_equal(getattr(again, name), getattr(alone, name))


def test_each_thread_has_a_room_of_its_own():
    workspaces, found = ThreadWorkspaces(), []
    threads = [Thread(target=lambda: found.append(workspaces.get())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(workspace) for workspace in [*found, workspaces.get()]}) == 3
    assert workspaces.get() is workspaces.get()


def test_rooms_go_empty_to_another_process():
    workspaces = ThreadWorkspaces()
    workspaces.get().get_array("keys", (1000,), np.int64)
    assert not copy(workspaces).get().buffers
