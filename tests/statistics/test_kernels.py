"""Random numbers of the kernels."""

from __future__ import annotations

import numpy as np

from symscreen.statistics._kernels import draw_bits


def test_random_bits_are_the_published_ones_of_splitmix64():
    state = np.array([1234567], dtype=np.uint64)
    assert [int(draw_bits(state)) for _ in range(5)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
