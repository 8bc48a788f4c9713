"""A reader under atheris until its time is over: every finding is written down, and the run goes on.

A crash, five minutes or a gigabyte end the process; `fuzz` starts it again. Ten seconds of CPU are a
finding. Only symscreen is instrumented, but not its kernels, whose bytecode numba reads.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import signal
import sys
import time
import traceback
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
LONGEST = 10  # seconds of CPU that one input may take
_ENDLESS = 300  # seconds after which one that does not come back to Python is given up: the cores may be busy
MOST_MEGABYTES = 1024
_LONGEST_INPUT = 20_000
_BETWEEN = 1.0  # seconds between two writings of what came
_WHERE = re.compile(r'File ".*?(symscreen/[^"]+|[^/"]+)", line (\d+)')


def compiled_modules() -> list[str]:
    """Name the modules that hold kernels."""
    package = ROOT / "symscreen"
    return [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in package.rglob("*.py")
        if "@compile_kernel" in path.read_text()
    ]


@cache
def instrumented() -> Callable[[str, bytes], str]:
    """Import what is fuzzed, instrumented: once, for that takes longer than many inputs."""
    import atheris

    with atheris.instrument_imports(include=["symscreen"], exclude=compiled_modules()):
        from fuzzing import harnesses, seeds

        for name, own in seeds.SEEDS.items():  # what is imported on the way is instrumented, too
            harnesses.ending(name, own[0])
    return harnesses.ending


def fuzzed(name: str, folder: Path, seconds: float, seed: int) -> int:
    """Fuzz one reader in a process of its own.

    Parameters
    ----------
    name : str
        Of the reader.
    folder : Path
        Holds the corpus, the dictionary, the findings, ``outcome.json`` with what came, and ``stderr.txt``.
    seconds : float
        How long.
    seed : int
        Of the fuzzer.

    Returns
    -------
    int
        The process's exit status: 0 when its time was over.
    """
    ending = instrumented()
    process = os.fork()
    if process:
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    try:
        with (folder / "stderr.txt").open("wb") as words:
            for handle in (1, 2):
                os.dup2(words.fileno(), handle)
        _fuzz(name, folder, seconds, seed, ending)
    except BaseException:  # noqa: BLE001  # a child of ours may not go on as its parent
        traceback.print_exc()
    finally:
        os._exit(1)  # the fuzzer itself ends the process


def _fuzz(name: str, folder: Path, seconds: float, seed: int, ending: Callable[[str, bytes], str]) -> None:
    import atheris
    from fuzzing import seeds

    corpus = folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for place, one in enumerate(seeds.SEEDS[name]):
        (corpus / f"seed-{place}").write_bytes(one)
    words = folder / "words.dict"
    words.write_text("".join(f'"{_escaped(word)}"\n' for word in seeds.words_of(name) if word))
    arguments = [
        *("guided", str(corpus), f"-dict={words}", f"-seed={seed}", f"-max_total_time={seconds:.0f}"),
        *(f"-timeout={_ENDLESS}", f"-rss_limit_mb={MOST_MEGABYTES}", f"-max_len={_LONGEST_INPUT}"),
        *(f"-artifact_prefix={folder}/", "-print_final_stats=1", "-reload=0"),
    ]
    signal.signal(signal.SIGPROF, _late)
    atheris.Setup(arguments, _Trial(name, folder, ending))
    atheris.Fuzz()


def _late(*_: object) -> None:
    raise TimeoutError(f"more than {LONGEST} s of CPU")


class _Trial:
    """Runs inputs and counts how they end."""

    def __init__(self, name: str, folder: Path, ending: Callable[[str, bytes], str]) -> None:
        self._name, self._folder, self._ending = name, folder, ending
        self._outcome = {
            "inputs": 0,
            "read": 0,
            "refused": 0,
            "worst_seconds": 0.0,
            "peak_mb": 0,
            "found": {},
        }
        self._outcome |= {"seconds": 0.0, "cpu_seconds": 0.0}
        self._used = time.process_time()
        self._begun, self._next = time.monotonic(), 0.0

    def __call__(self, data: bytes) -> None:
        """Try one input."""
        begun = time.process_time()
        self._outcome["inputs"] += 1
        signal.setitimer(signal.ITIMER_PROF, LONGEST)
        try:
            self._outcome[self._ending(self._name, data)] += 1
        except Exception as error:  # noqa: BLE001  # that is what is looked for
            self._keep(error, data)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        took = time.process_time() - begun
        if took > self._outcome["worst_seconds"]:
            self._outcome["worst_seconds"] = round(took, 3)
            (self._folder / "slowest").write_bytes(data)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        if peak > self._outcome["peak_mb"]:
            self._outcome["peak_mb"] = peak
            (self._folder / "largest").write_bytes(data)
        if time.monotonic() > self._next:
            self._outcome["cpu_seconds"] = round(time.process_time() - self._used, 1)
            self._outcome["seconds"] = round(time.monotonic() - self._begun, 1)
            (self._folder / "outcome.json").write_text(json.dumps(self._outcome))
            self._next = time.monotonic() + _BETWEEN

    def _keep(self, error: Exception, data: bytes) -> None:
        """Keep one input for each place where something broke: the shortest."""
        text = "".join(traceback.format_exception(error))
        places = _WHERE.findall(text)
        kind = f"{type(error).__name__} {':'.join(places[-1]) if places else ''}"
        if len(data) < self._outcome["found"].get(kind, sys.maxsize):
            self._outcome["found"][kind] = len(data)
            path = self._folder / f"found-{hashlib.sha256(kind.encode()).hexdigest()[:12]}"
            path.write_bytes(data)
            path.with_suffix(".txt").write_text(text[-4000:])


def _escaped(word: bytes) -> str:
    plain = frozenset(range(32, 127)) - {ord('"'), ord("\\")}
    return "".join(chr(byte) if byte in plain else f"\\x{byte:02x}" for byte in word[:60])
