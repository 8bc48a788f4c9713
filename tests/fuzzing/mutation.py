"""Mutation that no coverage guides: a seed changed in a few places."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from fuzzing.seeds import SEEDS, words_of

if TYPE_CHECKING:
    from numpy.random import Generator

__all__ = ["mutated"]


def mutated(rng: Generator, harness: str) -> bytes:
    """Draw a seed and change it in a few places: bytes, words, cuts, repeats, splices."""
    seeds, words = SEEDS[harness], words_of(harness)
    data = bytearray(seeds[rng.integers(len(seeds))])
    for _ in range(int(rng.integers(1, 6))):
        at = int(rng.integers(len(data) + 1))
        match int(rng.integers(8)):
            case 0 if data:
                data[at % len(data)] = int(rng.integers(256))
            case 1 if data:
                data[at % len(data)] ^= 1 << int(rng.integers(8))
            case 2:
                del data[at : at + int(rng.integers(1, 30))]
            case 3:
                data[at:at] = words[rng.integers(len(words))]
            case 4:
                start = int(rng.integers(len(data) + 1))
                data[at:at] = data[start : start + int(rng.integers(1, 40))]
            case 5:
                other = seeds[rng.integers(len(seeds))]
                data[at:] = other[int(rng.integers(len(other) + 1)) :]
            case 6 if data:
                place = at % len(data)
                data[place : place + 1] = data[place : place + 1] * int(rng.choice([2, 10, 300]))
            case _:
                size = int(rng.integers(1, 9))
                data[at : at + size] = rng.integers(256, size=size, dtype=np.uint8).tobytes()
    return bytes(data)
