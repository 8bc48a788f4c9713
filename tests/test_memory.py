from __future__ import annotations

import numpy as np
import pytest

from symscreen import _limits
from symscreen._limits import check_memory, format_bytes, read_resident_bytes
from symscreen.config.parsing import parse_bytes
from symscreen.config.screen_options import SpaceOptions
from symscreen.errors import MemoryLimitError
from symscreen.expansion import expand
from symscreen.grammar import load_grammar


def test_what_a_process_holds_grows_with_what_it_holds():
    before = read_resident_bytes()
    held = np.ones(100_000_000, dtype=np.uint8)
    assert 95_000_000 <= read_resident_bytes() - before <= 120_000_000
    assert held.all()


@pytest.fixture
def holding(monkeypatch):
    monkeypatch.setattr(_limits, "read_resident_bytes", lambda: 300_000_000)


@pytest.mark.usefixtures("holding")
def test_what_fits_is_not_refused():
    check_memory(700_000_000, 1_000_000_000, "a pool")
    check_memory(10**15, None, "a pool")
    with pytest.raises(MemoryLimitError):
        check_memory(700_000_001, 1_000_000_000, "a pool")


@pytest.mark.usefixtures("holding")
def test_a_refusal_names_the_peak_and_the_ways_out():
    with pytest.raises(MemoryLimitError) as caught:
        check_memory(12_345_678_901, 1_000_000_000, "a pool", ["wait", "pay"])
    assert str(caught.value) == (
        "a pool would take this process to 12.6 GB, 300.0 MB of them held already; 1.0 GB are "
        "allowed: wait, pay, or raise max_ram= to at least 12.7GB"
    )
    check_memory(12_345_678_901, parse_bytes("12.7GB"), "a pool")


@pytest.mark.usefixtures("holding")
def test_an_amount_that_the_process_has_passed_already_is_told():
    with pytest.raises(MemoryLimitError) as caught:
        check_memory(2_500_000, 1_000_000, "a pool")
    assert str(caught.value) == (
        "the interpreter, its libraries and the table take 300.0 MB before any space is grown, 1.0 MB are "
        "allowed: raise max_ram= to at least 303MB"
    )


def test_amounts_are_written_as_people_do():
    assert [format_bytes(size) for size in (800, 999_999, 10**6, 999 * 10**6, 10**9)] == [
        "0.8 kB", "1000.0 kB", "1.0 MB", "999.0 MB", "1.0 GB",
    ]  # fmt: skip


@pytest.mark.usefixtures("holding")
def test_what_follows_the_expansion_counts(rng):
    grammar, columns = load_grammar("basic"), rng.uniform(0.5, 2.0, (3, 50))
    arguments = (["a", "b", "c"], columns, grammar, grammar.resolve_layers("ub"))
    assert expand(*arguments, max_bytes=10**9, reserved_bytes=500_000_000, options=SpaceOptions()).size > 100
    with pytest.raises(MemoryLimitError, match=r"would take this process to 1\.1 GB"):
        expand(*arguments, max_bytes=10**9, reserved_bytes=800_000_000, options=SpaceOptions())


@pytest.mark.slow
@pytest.mark.usefixtures("holding")
def test_a_thin_pool_fits_where_a_pool_of_values_does_not(rng):
    grammar, columns = load_grammar("basic"), rng.uniform(0.5, 2.0, (8, 4000))
    arguments = (list("abcdefgh"), columns, grammar, grammar.resolve_layers("ub u[sin]"))
    assert (
        len(expand(*arguments, max_bytes=450_000_000, recompute_pool=True, options=SpaceOptions()).pool)
        > 4000
    )
    with pytest.raises(MemoryLimitError, match=r"a pool of [\d,]+ features .* use search='sieve'"):
        expand(*arguments, max_bytes=450_000_000, options=SpaceOptions())
