"""Passages per second and peak memory of our encoding beside the best of `SentenceTransformer.encode` on one device.

    python eval/bench/gpu.py --device cuda
    python eval/bench/gpu.py --device cpu --passages 200 --batch-sizes 8,32

Passages of about a hundred tokens, drawn by a seed. Sentence-transformers encodes them in float32
and in the dtype that we settle on, at several batch sizes; the best of these counts. Ours writes
its vectors to an empty store, which is part of its time. A first small run of each warms the device
up.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Annotated

import numpy as np
import torch
import typer
from rich.console import Console
from rich.table import Table

from kg2rag.compute import DEFAULT_MODEL, SentenceEncoder, Store, processor
from kg2rag.compute.hardware import CPU, device_of

WORDS = "river bridge castle engine canal abbey novel film director writer born near old town of the in was by".split()


def main(
    device: Annotated[str, typer.Option(help="One device.")] = "cuda",
    passages: Annotated[int, typer.Option(min=1)] = 50_000,
    batch_sizes: Annotated[
        str, typer.Option(help="Of sentence-transformers.")
    ] = "32,128,512,2048",
    model: Annotated[str, typer.Option()] = DEFAULT_MODEL,
) -> None:
    """Measure on one device."""
    where = device_of(device)
    random = np.random.default_rng(0)
    sizes = random.integers(60, 140, passages)
    texts = [" ".join(random.choice(WORDS, size=size)) for size in sizes]
    encoder = SentenceEncoder(model, device=where)
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder)
        dtype = encoder.describe(store)["dtype"]
        encoder.encode(["a passage to begin with"], store)
        work = partial(encoder.encode, texts, store)
        rows = [("kg2rag", dtype, "ours", *measured(work, passages, where))]
    for precision in dict.fromkeys(["float32", dtype]):
        network = encoder._load(precision)
        for size in map(int, batch_sizes.split(",")):
            network.encode(texts[:size], batch_size=size)
            work = partial(
                network.encode, texts, batch_size=size, normalize_embeddings=True
            )
            rates = measured(work, passages, where)
            rows.append(("sentence-transformers", precision, str(size), *rates))
    best = max(rate for name, *_, rate, _ in rows if name != "kg2rag")
    name = torch.cuda.get_device_name(where) if where != CPU else processor()
    table = Table(
        "encoder",
        "dtype",
        "batch",
        "passages a second",
        "of the best",
        "peak GB",
        title=f"{model}, {name}",
    )
    for label, kind, size, rate, peak in rows:
        table.add_row(
            label,
            kind,
            size,
            f"{rate:,.0f}",
            f"{rate / best:.2f}",
            f"{peak:.2f}" if where != CPU else "",
        )
    Console().print(table)


def measured(
    work: Callable[[], object], passages: int, device: str
) -> tuple[float, float]:
    """Passages a second, and the most gigabytes that torch held on the device (0 on a CPU)."""
    if device != CPU:
        torch.cuda.reset_peak_memory_stats(device)
    start = time.perf_counter()
    work()
    seconds = time.perf_counter() - start
    return passages / seconds, torch.cuda.max_memory_allocated(
        device
    ) / 1e9 if device != CPU else 0.0


if __name__ == "__main__":
    typer.run(main)
