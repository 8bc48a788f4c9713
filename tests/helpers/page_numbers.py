"""Numbers with a unit that pages may have without a results file, by the reason why.

An entry is a page and a phrase of it; the phrase covers the numbers in it. Where the code has the number, the
phrase is made from the code, so that page and code cannot differ. `tests/test_page_numbers.py` refuses a
number that no results file, no example and no phrase covers, and a phrase that its page does not have.
"""

from __future__ import annotations

import inspect
import math
from typing import TYPE_CHECKING

from symscreen import _limits
from symscreen.backends import dask
from symscreen.config import parsing
from symscreen.data.readers import file_bytes
from symscreen.fitting.effort import EFFORTS
from symscreen.fitting.laws import refinement, simple_numbers
from symscreen.fitting.laws.deep_pool import estimate_deep_bytes
from symscreen.multistage import article_sharing
from symscreen.multistage.baselines import matrix_factorization
from symscreen.screening.scoring import correlation_bounds
from symscreen.screening.search import modes
from symscreen.statistics.inference.t0_interval import compute_t0_intervals

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Phrases = list[tuple[str, str]]

_MIB = 2**20
_ADDRESSES = _limits._STARTUP_ADDRESS_BYTES // _MIB


def _get_default(function: Callable[..., object], name: str) -> float:
    return float(inspect.signature(function).parameters[name].default)


def _format_untied(n_levels: int, n_rows: int) -> str:
    """Format the chance that rows drawn from even levels are all different."""
    share = math.prod(1 - row / n_levels for row in range(n_rows))
    return f"{100 * share:.0f} %"


def _format_meetings() -> str:
    pairs = article_sharing._N_PERSONS * article_sharing._N_ARTICLES
    n_meetings = article_sharing._N_MEETINGS
    return (
        f"at the full size {n_meetings:,} pairs met, {100 * n_meetings / pairs:.2f} % of persons × articles"
    )


def _format_shares() -> str:
    """Format the row of the table of efforts with shares."""
    return " | ".join(["", *(f"{effort.broad_share}" for effort in EFFORTS.values()), ""]).strip()


_DEEP_GB = estimate_deep_bytes(EFFORTS["thorough"].deep_pool_formulas) / 1e9
_LEVEL = f"{100 * _get_default(compute_t0_intervals, 'level'):.0f} %"
_QUIET_S = f"{file_bytes._QUIET_PERIOD_S:g} s"

FROM_CODE: Phrases = [
    ("README.md", f"do better than noise (false discovery rate {100 * parsing.DEFAULT_FDR:g} %)"),
    ("docs/glossary.md", f"{parsing.DEFAULT_MAX_CORRELATION:g} by default"),
    ("docs/trust.md", f"Some features have q-values of at most {parsing.DEFAULT_FDR:g}, or of the rate of"),
    ("docs/cluster.md", f"no scheduler answers within {dask._CONNECT_TIMEOUT_S:.0f} s"),
    ("docs/cluster.md", f"no worker comes within {dask._FIRST_WORKER_TIMEOUT_S:.0f} s"),
    (
        "docs/engine.md",
        f"a pool of at most {correlation_bounds._MAX_BYTES // correlation_bounds._COPIES // _MIB} MiB",
    ),
    ("docs/fit.md", _format_shares()),
    ("docs/fit.md", f"about {_DEEP_GB:.0f} GB of memory"),
    ("docs/how-fit-searches.md", f"An F test at {100 * (1 - refinement._LEVEL):.0f} % decides"),
    ("docs/how-fit-searches.md", f"as the test at {100 * (1 - simple_numbers.EVIDENT_LEVEL):.1f} % allows"),
    ("docs/multistage.md", f"{matrix_factorization.StagePairFactors.max_iter} times"),
    ("docs/multistage.md", _format_meetings()),
    (
        "docs/reliability.md",
        f"less than {_ADDRESSES} MiB and {_limits._THREAD_BYTES // _MIB} MiB per core are left",
    ),
    ("docs/reliability.md", f"or {_limits._STARTUP_RESIDENT_BYTES // _MIB} MiB of a control group's memory"),
    ("docs/reliability.md", f"less {_limits._LATE_ADDRESS_BYTES // _MIB} MiB of addresses"),
    ("docs/reliability.md", f"when it has stood still for {_QUIET_S}"),
    ("docs/reliability.md", f"pauses for longer than {_QUIET_S} half way"),
    ("docs/reliability.md", f"at most {_QUIET_S} otherwise"),
    ("docs/search.md", f"an exact one-sided {100 * modes._CONFIDENCE:.0f} % interval"),
    ("docs/trust-evidence.md", f"How often {_LEVEL} intervals held the truth"),
]

ARITHMETIC: Phrases = [
    ("docs/cluster.md", f"10¹⁰ candidates are {10**10 // 10**9} GB"),  # a byte each
]

DEFINITIONS: Phrases = [
    ("benchmarks/README.md", "Local tests each class at 5 %"),
    ("docs/equations-of-motion.md", "a driven pendulum, an epidemic) with 1 % of noise"),
    ("docs/power.md", "Wilson's 95 % interval"),
    ("docs/reliability.md", "a column of text in a batch has at most 2 GB"),  # Arrow's 32-bit offsets
    ("docs/reproduction.md", "the level 5 %"),
    ("docs/reproduction.md", "the 30 % of the rows that are held out"),
    ("docs/screeners.md", "Local tests each class at its own 5 %"),
    ("docs/trust-evidence.md", "the nominal rate 5 %"),
]

CHECKED_BY_TESTS: Phrases = [
    ("docs/engine.md", "at most twice that and 150 MB"),  # tests/screening/test_memory_estimate.py, SLACK
]

PUBLISHED: Phrases = [
    ("benchmarks/README.md", "sorted a column of 400 packed keys in 1.09 µs"),  # SISSO 3.5, see SISSO_SORT_US
    ("docs/multistage.md", "under 0.2 % observed"),  # Dai, Shen and Pan, section on DeskDrop
]

NO_FIGURES: Phrases = [  # sections, settings and versions in tables
    ("docs/evaluation.md", "(Luo and Li 2024, §6.1)"),
    ("docs/export.md", "SQLite 3.35 or newer"),
    ("docs/rankings.md", "settings 1 to 3 of section 5.1"),
    ("docs/reliability.md", "fixed in 3.0.2"),
]

REASONS: Mapping[str, Phrases] = {
    "a constant of the code": FROM_CODE,
    "arithmetic on numbers of the same sentence": ARITHMETIC,
    "a definition": DEFINITIONS,
    "a bound that a test checks": CHECKED_BY_TESTS,
    "a published figure": PUBLISHED,
    "a section, a setting or a version": NO_FIGURES,
}
