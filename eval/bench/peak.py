"""Run a command -> seconds by the clock and of the processors, and the most memory it held, all its processes together.

    python eval/bench/peak.py kg2rag compare musique --path FOLDER --out OUT

Memory is the proportional set size: pages that processes share count once. Linux only: it is read from /proc.
"""

from __future__ import annotations

import os
import subprocess
import sys

from scale import Clock, family, status

EVERY = 0.5  # seconds between two looks at the memory


def main() -> None:
    """Run what follows on the command line, print what it took, and end as it did."""
    clock, peak = Clock(), 0.0
    with subprocess.Popen(sys.argv[1:]) as process:
        while process.poll() is None:
            peak = max(peak, sum(status(one, "Pss", "smaps_rollup") for one in family(process.pid)))
            try:
                process.wait(EVERY)
            except subprocess.TimeoutExpired:
                continue
    seconds, processor = clock.spent()
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"{seconds:.1f} s, {processor:.1f} s of processors, {peak:.2f} GB at the peak; load {load}", file=sys.stderr)
    sys.exit(process.returncode)


if __name__ == "__main__":
    main()
