"""Generated benchmarks: a seeded, invented world with exact gold passages, triples and chains, of any size.

`World` holds the controls and makes it in memory (`World(…).dataset()`), `write` streams it to disk. Synthetic, and
every result over it says so.
"""

from kg2rag.datasets.world.build import DATASET, World, write

__all__ = ["DATASET", "World", "write"]
