"""Fuzz every reader of files and texts: coverage-guided where atheris is installed, else by seeded mutation.

    python benchmarks/fuzz/run.py --seconds 60 --seed 1            # all harnesses in turn, mutation
    python benchmarks/fuzz/run.py formula --atheris --seconds 600  # one, guided by coverage

A finding stops the harness, and its input is written to findings/. Figures go to standard output as JSON.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import resource
import signal
import sys
import time
import traceback
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "fuzz"))
_LONGEST = 10  # seconds that one input may take
_MOST_FINDINGS = 20


def main() -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("harness", nargs="*")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--atheris", action="store_true")
    parser.add_argument("--findings", type=Path, default=Path("findings"))
    options = parser.parse_args()
    faulthandler.enable()
    if options.atheris:
        _guided(options)
        return
    import harnesses

    for name in options.harness or harnesses.HARNESSES:
        print(json.dumps(_mutation(name, options)), flush=True)


def _mutation(name: str, options: argparse.Namespace) -> dict[str, object]:
    import harnesses

    rng = np.random.default_rng([options.seed, *name.encode()])
    endings = {"read": 0, "refused": 0, "finding": 0}
    worst, begun = 0.0, time.process_time()
    while time.process_time() - begun < options.seconds and endings["finding"] < _MOST_FINDINGS:
        for data in [harnesses.mutated(rng, name, harnesses.WORDS) for _ in range(100)]:
            start = time.process_time()
            endings[_ended(name, data, options.findings)] += 1
            worst = max(worst, time.process_time() - start)
    return {
        "harness": name,
        "inputs": sum(endings.values()),
        **endings,
        "cpu_seconds": round(time.process_time() - begun, 1),
        "worst_cpu_seconds": round(worst, 3),
        "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def _ended(name: str, data: bytes, findings: Path) -> str:
    import harnesses

    def late(*_: object) -> None:
        raise TimeoutError(f"more than {_LONGEST} s")

    signal.signal(signal.SIGALRM, late)
    signal.alarm(_LONGEST)
    try:
        return harnesses.ending(name, data)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        findings.mkdir(exist_ok=True)
        path = findings / f"{name}-{abs(hash(data)):x}"
        path.write_bytes(data)
        path.with_suffix(".txt").write_text(traceback.format_exc()[-3000:])
        return "finding"
    finally:
        signal.alarm(0)


def _guided(options: argparse.Namespace) -> None:
    import atheris

    with atheris.instrument_imports(include=["symscreen"]):
        import harnesses
    (name,) = options.harness
    corpus = options.findings / f"corpus-{name}"
    corpus.mkdir(parents=True, exist_ok=True)
    for place, seed in enumerate(harnesses.SEEDS[name]):
        (corpus / f"seed-{place}").write_bytes(seed)
    arguments = [
        sys.argv[0], str(corpus), f"-max_total_time={options.seconds:.0f}", f"-seed={options.seed + 1}",
        f"-timeout={_LONGEST}", "-rss_limit_mb=4096", "-print_final_stats=1", "-max_len=20000",
        f"-artifact_prefix={options.findings}/{name}-", "-verbosity=0",
    ]  # fmt: skip
    atheris.Setup(arguments, lambda data: harnesses.ending(name, data) and None)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
