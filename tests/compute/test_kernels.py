"""Parallel loops in threads and in forked processes: the same bytes, whichever of numba's layers runs them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

KERNEL = """
import numba
from kg2rag.compute import Kernel

def products(queries, rows, found):
    for i in numba.prange(rows.shape[0]):
        for q in range(queries.shape[0]):
            found[q, i] = (queries[q] * rows[i]).sum()

njit = numba.njit
numba.njit = lambda cache, **options: njit(**options)  # no file holds the function: no cache on disk
kernel = Kernel(products)

def every(queries, rows):
    found = np.zeros((len(queries), len(rows)))
    kernel(queries, rows, found)
    return found
"""
THREADS = """
import threading
import numpy as np
@KERNEL@
queries = np.random.default_rng(0).random((4, 64), dtype=np.float32)
rows = np.random.default_rng(1).random((20_000, 64), dtype=np.float32)
want = (rows.astype(np.float64) @ queries.T.astype(np.float64)).T
start, wrong = threading.Barrier(4), []

def work():
    start.wait()
    for _ in range(20):
        if not np.allclose(every(queries, rows), want):
            wrong.append(1)

workers = [threading.Thread(target=work) for _ in range(4)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
print(numba.threading_layer(), len(wrong))
"""
FORKED = """
import multiprocessing
import sys
import numpy as np
@KERNEL@
queries = np.random.default_rng(0).random((4, 64), dtype=np.float32)
rows = np.random.default_rng(1).random((2_000, 64), dtype=np.float32)

def both(_):
    return every(queries, rows).tobytes()

here = both(0)
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map(both, range(4)) == [here] * 4)
"""


def said(program: str, **environment: str) -> str:
    # Two threads, or there is nothing to run at once; the limit is a guard against a pool that waits for ever.
    setting = {**os.environ, "KG2RAG_THREADS": "2", "NUMBA_NUM_THREADS": "2", **environment}
    run = subprocess.run(
        [sys.executable, "-c", program.replace("@KERNEL@", KERNEL)],
        env=setting,
        capture_output=True,
        text=True,
        check=False,
        timeout=3600,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.parametrize("layer", ["workqueue", "omp"])
def test_threads_take_turns_where_the_layer_needs_it(layer: str) -> None:
    assert said(THREADS, NUMBA_THREADING_LAYER=layer) == f"{layer} 0\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("layer", ["workqueue", "omp"])
def test_a_forked_process_gets_the_same_bytes_after_its_parent_ran_parallel_loops(layer: str) -> None:
    assert said(FORKED, NUMBA_THREADING_LAYER=layer) == "True\n"


LANES = """
import numba
import numpy as np
from kg2rag.compute import Kernel

def powers(x, out):
    for part in numba.prange(4):
        for i in range(16 * part, 16 * part + 16):
            a, b, c, d, e, f, g, h = x[i, 0], x[i, 1], x[i, 2], x[i, 3], x[i, 4], x[i, 5], x[i, 6], x[i, 7]
            out[i, 0], out[i, 1], out[i, 2], out[i, 3] = a * a + a, b * b + b, c * c + c, d * d + d
            out[i, 4], out[i, 5], out[i, 6], out[i, 7] = e * e + e, f * f + f, g * g + g, h * h + h

# No file holds the function, so it is compiled without the cache on disk.
njit = numba.njit
numba.njit = lambda cache, **options: njit(**options)
x, plain, lanes, serial = np.random.default_rng(0).random((64, 8)), *np.zeros((3, 64, 8))
one, other = Kernel(powers), Kernel(powers, lanes=True)
one(x, plain)
other(x, lanes)
other.serial(x, serial)
print(plain.tobytes() == lanes.tobytes() == serial.tobytes(), numba.config.SLP_VECTORIZE)
"""


def test_numbers_side_by_side_have_the_bits_of_those_alone_and_numba_keeps_its_setting() -> None:
    assert said(LANES, NUMBA_SLP_VECTORIZE="0") == "True 0\n"


SCORED = """
import multiprocessing
from kg2rag.evaluation.metrics import score

def scored(_):
    try:
        return score([{0: 1}], [[0]], ["mrr@10"])["mrr@10"].tolist()
    except RuntimeError as error:
        return str(error)

here = scored(0)
with multiprocessing.get_context("fork").Pool(1) as pool:
    print(here, *pool.map(scored, [0]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize(("layer", "there"), [("workqueue", "[1.0]"), ("omp", "ranx cannot score in a forked process")])
def test_scoring_in_a_forked_process_is_right_or_refused(layer: str, there: str) -> None:
    assert said(SCORED, NUMBA_THREADING_LAYER=layer).startswith(f"[1.0] {there}")
