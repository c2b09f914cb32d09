"""Work that takes a while -> a tqdm bar."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tqdm import tqdm

EVERY = 10.0
"""Seconds between two lines where no bar can be drawn; work that takes less says nothing."""


def bar(total: int | None, what: str, unit: str, *, shown: bool = True) -> tqdm[Any]:
    """A bar of `total` units: on stderr, in a terminal or a notebook; a line now and then where that is a file.

    TQDM_DISABLE=1 hides all.
    """
    from tqdm import tqdm

    drawn = sys.stderr.isatty() or "ipykernel" in sys.modules
    paced = {} if drawn else {"mininterval": EVERY, "maxinterval": EVERY, "delay": EVERY}
    hidden = not shown or bool(os.environ.get("TQDM_DISABLE"))
    return tqdm(total=total, desc=what, unit=unit, leave=False, disable=hidden, file=sys.stderr, **paced)
