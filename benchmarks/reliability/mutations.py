"""Mutations of statistics, screeners, expansion, inference and experiments, and which of them tests notice.

A sample by seed (see mutants.py), in proportion to the lines of each package, is drawn once and kept in the
folder of ``--state``. For each mutation, the tests that reach its line run until one fails (see
mutation_coverage.py). A mutation that no test reaches has survived. ``--record`` first records what each test
executes: it needs ``pip install coverage`` and the time of the tests. Verdicts are kept: a second run goes on
with the mutations that have none, and ``--again`` tries the survivors with the tests of today. A mutation
that gives the same result for every input is called equivalent, with a proof in equivalent_mutants.toml.

It needs Linux or macOS: each mutation runs in a process forked from one that has imported the libraries.
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from measurement import BENCHMARKS, describe_machine, format_table, make_parser, save_results
from reliability.mutants import Mutation, find_again, name_mutation, sample_mutations
from reliability.mutation_coverage import RecordingPlugin, TestRecord, TestSelector, read_records
from reliability.mutation_worker import Outcome, Worker

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = BENCHMARKS.parent
EQUIVALENTS = Path(__file__).with_name("equivalent_mutants.toml")
STRATA = {
    "statistics": "symscreen/statistics",
    "screeners": "symscreen/screeners",
    "expansion": "symscreen/expansion",
    "inference": "symscreen/screening/inference",
    "experiments": "symscreen/experiments",
}
_BASE_LIMIT = 90.0  # seconds of a mutation's tests, besides a multiple of their recorded time
_LIMIT_FACTOR = 5.0
_FIRST_PART = 4.0  # recorded seconds of the tests that run first, so that few files need to be imported
_EQUIVALENT_SHARE = 0.15


def draw_sample(state: Path, number: int, seed: int) -> list[Mutation]:
    """Draw the sample, or read the one that was drawn for this seed and number."""
    target = state / f"sample-{seed}-{number}.json"
    if not target.exists():
        folders = {name: sorted((ROOT / folder).rglob("*.py")) for name, folder in STRATA.items()}
        sample = sample_mutations(folders, ROOT, number, seed)
        target.write_text(json.dumps([asdict(one) for one in sample], indent=1, ensure_ascii=False))
    return [Mutation(**one) for one in json.loads(target.read_text())]


def read_verdicts(state: Path) -> list[dict[str, Any]]:
    """Read all verdicts, those of the first run first."""
    target = state / "verdicts.jsonl"
    return [json.loads(line) for line in target.read_text().splitlines()] if target.exists() else []


def read_equivalents() -> dict[str, str]:
    """Read the proofs of equivalent mutations, by key."""
    listed = tomllib.loads(EQUIVALENTS.read_text())["mutation"]
    return {
        name_mutation(one["file"], one["place"], one["line"], one["becomes"]): one["proof"] for one in listed
    }


def judge(
    mutation: Mutation, worker: Worker, selector: TestSelector, budget: float, files: Sequence[str] = ()
) -> dict[str, Any]:
    """Run the tests of a mutation, as many as a time allows.

    Parameters
    ----------
    mutation : Mutation
        The mutation.
    worker : Worker
        Runs the tests.
    selector : TestSelector
        Chooses them.
    budget : float
        The recorded time of the tests in seconds; what is left out is counted.
    files : sequence of str
        Files whose tests run instead.

    Returns
    -------
    dict
        The verdict, what killed it, and how many tests reach it, ran and were left out.
    """
    tests, n_reaching = selector.choose(mutation)
    parts = [list(files)] if files else _divide_tests(tests, budget)
    source = (worker.copy / mutation.path).read_text()
    seconds = {one.name: one.seconds for one in tests}
    outcome, n_run = Outcome("survived", message="no test reaches it"), 0
    for names in parts if n_reaching or files else []:
        limit = _BASE_LIMIT + _LIMIT_FACTOR * sum(seconds.get(name, 0.0) for name in names)
        outcome = worker.run_mutated(mutation.path, mutation.apply(source), names, limit)
        n_run += outcome.n_run
        if outcome.verdict != "survived":
            break
    found = {"key": mutation.key, "source": sha256(source.encode()).hexdigest()[:16]} | asdict(outcome)
    n_left_out = 0 if files else len(tests) - sum(map(len, parts))
    return found | {"n_run": n_run, "n_reaching": n_reaching, "n_left_out": n_left_out}


def _divide_tests(tests: Sequence[TestRecord], budget: float) -> list[list[str]]:
    """Divide what the budget allows into a first part, which kills most mutations, and the others."""
    parts: list[list[str]] = [[], []]
    seconds = 0.0
    for one in tests:
        if seconds + one.seconds <= budget or not seconds:
            parts[seconds > _FIRST_PART].append(one.name)
            seconds += one.seconds
    return [part for part in parts if part]


def summarize(sample: Sequence[Mutation], verdicts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the mutations with their last verdicts and the counts; also the counts of the first run."""
    rows, proofs = [], read_equivalents()
    last = {one["key"]: one for one in verdicts}
    first = {one["key"]: one["verdict"] for one in reversed(verdicts)}
    first_counts = Counter(first[mutation.key] for mutation in sample if mutation.key in first)
    for mutation in sample:
        found = last.get(mutation.key)
        row = {"mutation": mutation.key, "line": mutation.line, "package": _find_stratum(mutation)}
        if found is None:
            rows.append(row | {"verdict": "not tried"})
        elif found["verdict"] == "survived" and mutation.key in proofs:
            rows.append(row | {"verdict": "equivalent", "proof": proofs[mutation.key]})
        else:
            rows.append(
                row | {name: found[name] for name in ("verdict", "killed_by", "message", "n_left_out")}
            )
    counts = Counter(row["verdict"] for row in rows)
    tried = len(rows) - counts["not tried"]
    killed = counts["killed"] + counts["timeout"]
    return {
        "tried": tried,
        "killed": killed,
        "timeouts": counts["timeout"],
        "equivalent": counts["equivalent"],
        "survived": counts["survived"],
        "killed_share": round(killed / max(tried - counts["equivalent"], 1), 4),
        "equivalent_share": round(counts["equivalent"] / max(tried, 1), 4),
        "first_run": {
            "killed": first_counts["killed"] + first_counts["timeout"],
            "survived": first_counts["survived"],
        },
        "mutations": rows,
    }


def format_summary(found: dict[str, Any]) -> str:
    """Format the counts by package, the survivors and the proofs."""
    verdicts = ("killed", "timeout", "survived", "equivalent")
    rows: list[list[object]] = []
    for name in [*STRATA, "all"]:
        counts = Counter(one["verdict"] for one in found["mutations"] if name in {one["package"], "all"})
        decided = sum(counts[verdict] for verdict in verdicts)
        killed = counts["killed"] + counts["timeout"]
        share = killed / max(decided - counts["equivalent"], 1)
        rows.append([name, decided, *(counts[verdict] for verdict in verdicts), f"{100 * share:.1f} %"])
    parts = [
        format_table(["package", "tried", *verdicts, "killed of those not equivalent"], rows),
        "Survived:",
        _list_rows(found, "survived", "message"),
        f"Equivalent (at most {100 * _EQUIVALENT_SHARE:.0f} % may be):",
        _list_rows(found, "equivalent", "proof"),
    ]
    return "\n\n".join(parts)


def _list_rows(found: dict[str, Any], verdict: str, reason: str) -> str:
    rows = [
        [f"`{one['mutation']}`".replace("|", "\\|"), one[reason]]
        for one in found["mutations"]
        if one["verdict"] == verdict
    ]
    return format_table(["mutation", "why"], rows) if rows else "none"


def _find_stratum(mutation: Mutation) -> str:
    return next(name for name, folder in STRATA.items() if mutation.path.startswith(f"{folder}/"))


def main(arguments: Sequence[str]) -> None:
    """Read the options, record or try what is asked for, save the verdicts."""
    parser = make_parser(__doc__)
    parser.add_argument("--number", type=int, default=300, help="how many mutations")
    parser.add_argument(
        "--seed", type=int, default=0, help="of the sample; another than 0 has its own results"
    )
    parser.add_argument("--state", type=Path, default=Path.home() / ".cache" / "symscreen-mutations")
    parser.add_argument(
        "--record", nargs="*", metavar="PATH", help="record what the tests of these paths execute"
    )
    parser.add_argument("--slow-only", action="store_true", help="with --record: the tests marked slow")
    parser.add_argument(
        "--budget", type=float, default=120.0, help="recorded seconds of tests for a mutation"
    )
    parser.add_argument("--again", action="store_true", help="try again what has survived")
    parser.add_argument(
        "--confirm", action="store_true", help="run each test that has killed once more, alone"
    )
    parser.add_argument("--only", default="", help="try those whose key has this text")
    parser.add_argument("--tests", nargs="*", default=(), metavar="FILE", help="run all tests of these files")
    parser.add_argument("--check", action="store_true", help="run what has killed on the unchanged source")
    parser.add_argument("--report", action="store_true", help="try nothing, save what is known")
    given = parser.parse_args(arguments)
    about = describe_machine()
    given.state.mkdir(parents=True, exist_ok=True)
    sample = [
        replace(one, **found)
        for one in draw_sample(given.state, given.number, given.seed)
        if (found := find_again(one, (ROOT / one.path).read_text()))
    ]
    records = given.state / "records.jsonl"
    if given.record is not None:
        worker = Worker(ROOT, given.state)
        for place in given.record:
            _record(worker, place, records, slow_only=given.slow_only)
        return
    if given.check:
        last = {one["key"]: one["killed_by"] for one in read_verdicts(given.state)}
        names = {last[one.key] for one in sample if one.key in last}
        # doctests last: pytest imports their modules anew, and tests before them have the first ones
        tests = sorted(
            (one for one in names if "::" in one), key=lambda one: (one.startswith("symscreen/"), one)
        )
        print(Worker(ROOT, given.state).run_unchanged(tests, 1800.0))
        return
    if not given.report:
        _try_all([one for one in sample if given.only in one.key], records, given)
    found = summarize(sample, read_verdicts(given.state))
    settings = {"seed": given.seed, "number": given.number}
    name = "mutations" if given.seed == 0 else f"mutations_{given.seed}"
    save_results(name, settings | found | {"machine": about}, format_summary(found), given.results)


def _record(worker: Worker, place: str, records: Path, *, slow_only: bool) -> None:
    worker.record(
        [str(worker.copy / place)],
        lambda root: RecordingPlugin(root, records.absolute(), slow_only=slow_only),
        ["--slow"] if slow_only else [],
    )
    print(f"{place}: {len(read_records(records))} tests are on record", flush=True)


def _try_all(sample: Sequence[Mutation], records: Path, given: Any) -> None:
    worker = Worker(ROOT, given.state)
    selector = TestSelector(ROOT, read_records(records))
    verdicts = {one["key"]: one for one in read_verdicts(given.state)}
    for place, mutation in enumerate(sample, 1):
        known = verdicts.get(mutation.key)
        files = given.tests
        if known and given.confirm and "::" in known["killed_by"]:
            files = [known["killed_by"]]
        elif known and not (given.again and known["verdict"] == "survived"):
            continue
        found = judge(mutation, worker, selector, given.budget, files)
        if known and found["verdict"] == "survived" and known["verdict"] == "killed":
            found = judge(mutation, worker, selector, given.budget)  # alone, it does not fail any more
        with (given.state / "verdicts.jsonl").open("a") as stream:
            stream.write(json.dumps(found, ensure_ascii=False) + "\n")
        print(f"{place}/{len(sample)} {found['verdict']:<9} {found['killed_by']} {mutation.key}", flush=True)
