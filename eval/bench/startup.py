"""Where the time of a command goes, process start included: a table of imports and stages.

    python eval/bench/startup.py compare musique --path FOLDER --out /tmp/comparison

Run the command once before, so that everything is in the store. Seconds are those of the processor, all threads
together, so that a busy machine changes little. Each belongs to the innermost import or stage that it was spent in, and
an import to its package, not to what asked for it.
"""

from __future__ import annotations

import sys
import time

BEGIN = time.process_time()

from collections import Counter  # noqa: E402 - the clock is started first
from collections.abc import Callable, Iterator  # noqa: E402
from contextlib import contextmanager  # noqa: E402
from importlib import _bootstrap, import_module  # noqa: E402
from typing import Any  # noqa: E402

STAGES = {
    "kg2rag.datasets:load": "load questions and passages",
    "kg2rag.cli.options:SystemOptions.build": "make the systems",
    "kg2rag.evaluation.configuration:run": "run",
    "kg2rag.evaluation.tables:checked_scores": "score",
    "kg2rag.evaluation.tables:token_curve": "recall by tokens",
    "kg2rag.evaluation.score_table:score_table": "intervals and tests",
    "kg2rag.report.page:_figures": "draw figures",
    "kg2rag.evaluation.comparison:Comparison.to_html": "write the page",
    "kg2rag.evaluation.storage:save": "save tables and runs",
    "rich.console:Console.print": "print the table",
}
"""Function -> what it is called in the table; `run` is followed by the name of the system."""
SHOWN = 0.05  # seconds; what took less is one row


class Clock:
    """Seconds of the processor by name, each in the innermost of the open names."""

    def __init__(self) -> None:
        self.spent: Counter[str] = Counter({"start of Python": BEGIN})
        self.open, self.since = ["the rest"], BEGIN

    def lap(self) -> None:
        """Book the time since the last call."""
        now = time.process_time()
        self.spent[self.open[-1]] += now - self.since
        self.since = now

    @contextmanager
    def within(self, name: str) -> Iterator[None]:
        """Book what follows under a name."""
        self.lap()
        self.open.append(name)
        try:
            yield
        finally:
            self.lap()
            self.open.pop()


def main() -> None:
    """Run a command of kg2rag and print where its time went."""
    clock = Clock()
    find = _bootstrap._find_and_load

    def timed_import(name: str, import_: Callable[..., Any]) -> Any:
        with clock.within(f"import {name.partition('.')[0]}"):
            return find(name, import_)

    _bootstrap._find_and_load = timed_import
    for place, stage in STAGES.items():
        time_stage(clock, place, stage)
    from kg2rag.cli import app

    app(sys.argv[1:], standalone_mode=False)
    clock.lap()
    total = sum(clock.spent.values())
    rest = sum(seconds for seconds in clock.spent.values() if seconds < SHOWN)
    rows = [(name, seconds) for name, seconds in clock.spent.most_common() if seconds >= SHOWN]
    imports = sum(seconds for name, seconds in clock.spent.items() if name.startswith("import "))
    print("| seconds | where |\n|---|---|")
    for name, seconds in [*rows, ("less than that each", rest), ("imports together", imports), ("all", total)]:
        print(f"| {seconds:.2f} | {name} |")


def time_stage(clock: Clock, place: str, stage: str) -> None:
    """Put a function in place that books its time."""
    module, _, path = place.partition(":")
    *owners, name = path.split(".")
    owner: Any = import_module(module)
    for each in owners:
        owner = getattr(owner, each)
    plain = getattr(owner, name)

    def timed(*given: Any, **named: Any) -> Any:
        with clock.within(f"{stage} {given[0]}" if stage == "run" else stage):
            return plain(*given, **named)

    setattr(owner, name, timed)


if __name__ == "__main__":
    main()
