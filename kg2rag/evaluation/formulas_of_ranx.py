"""Name of a metric of ranx, its depth included -> the function that computes it.

Only `ranx.metrics` is loaded, numba and numpy alone: importing the whole of ranx also loads its plots, downloads and
tests, which takes longer than to score a hundred questions.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from threading import Lock
from typing import Any

from kg2rag.types import FloatArray

NAME = "ranx.metrics"
_IMPORT = Lock()


@cache
def formula(name: str) -> Callable[[FloatArray, FloatArray], FloatArray]:
    """(qrels, run), arrays as `metrics.score` makes them -> (n_queries,); of "recall", "recall@5" or "rbp.80", say."""
    base, dot, persistence = name.partition(".")
    base, _, depth = base.partition("@")
    parameter = float(f"0.{persistence}") if dot else int(depth or 0)  # ranx's 0 is no depth
    function = _metrics().metric_switch(base)
    return lambda qrels, run: function(qrels, run, parameter, 1)


def _metrics() -> Any:
    """`ranx.metrics`, as `import ranx.metrics` would load it, but without `ranx` itself."""
    with _IMPORT:
        if NAME not in sys.modules:
            package = find_spec("ranx")
            if package is None or not package.submodule_search_locations:
                raise ModuleNotFoundError("The package ranx is not installed. Run: pip install ranx", name="ranx")
            folder = Path(package.submodule_search_locations[0]) / "metrics"
            spec = spec_from_file_location(NAME, folder / "__init__.py", submodule_search_locations=[str(folder)])
            assert spec is not None
            assert spec.loader is not None
            module = module_from_spec(spec)
            sys.modules[NAME] = module  # stays: numba's cache imports it by its name
            try:
                spec.loader.exec_module(module)
            except BaseException:
                del sys.modules[NAME]
                raise
        return sys.modules[NAME]
