"""What starting costs in processor time, beside a bare interpreter.

python benchmarks/startup.py [--json]
"""

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from report import report

from letopis.store.init import init

RUNS = 15
COMMANDS = {
    "bare interpreter": ["-c", "pass"],
    "import letopis": ["-c", "import letopis"],
    "letopis --help": ["-m", "letopis", "--help"],
    "letopis status": ["-m", "letopis", "status"],
    "letopis search": ["-m", "letopis", "search", "word"],
}


def processor_time(arguments: list[str], folder: str) -> float:
    """Milliseconds of user and system time of one run."""
    before = os.times()
    subprocess.run([sys.executable, *arguments], cwd=folder, stdout=subprocess.DEVNULL, check=True)
    after = os.times()
    return (after.children_user + after.children_system - before.children_user - before.children_system) * 1000


def main() -> None:
    """Medians over the runs, the commands interleaved."""
    with tempfile.TemporaryDirectory() as folder:
        init(Path(folder))
        times: dict[str, list[float]] = {name: [] for name in COMMANDS}
        for _ in range(RUNS):
            for name, arguments in COMMANDS.items():
                times[name].append(processor_time(arguments, folder))
    medians = {name: statistics.median(values) for name, values in times.items()}
    bare = medians["bare interpreter"]
    rows = [{"command": name, "ms": value, "more than bare, ms": value - bare} for name, value in medians.items()]
    report("startup", rows, runs=RUNS)


if __name__ == "__main__":
    main()
