"""Token vectors of the training sets' passages -> how much of them the 64 axes of `mention_chains` keep.

    python eval/token_basis.py DATA

`kg2rag/retrievers/mention_chains/token_basis.npy` holds 64 axes of all-MiniLM-L6-v2's token vectors, near those on
which they vary most; the sample that they were computed from was not recorded. Printed is the share of the squared
length of the token vectors that they keep, and that the best 64 axes of these passages would keep (principal axes,
uncentred). One passage in `--every` is encoded.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from public_sets import load_set, table

from kg2rag.compute import SentenceEncoder, Store

BASIS = files("kg2rag.retrievers.mention_chains") / "token_basis.npy"


def main(
    data: Annotated[Path, typer.Argument(help="The folder of the public sets.")],
    every: Annotated[int, typer.Option(min=1, help="Encode one passage in so many.")] = 15,
) -> None:
    """Encode, compare and print."""
    with BASIS.open("rb") as file:
        axes = np.load(file, allow_pickle=False)
    for name in table("train"):
        texts = load_set(data, name, "train").corpus.contents[::every]
        found = SentenceEncoder().encode_tokens(texts, Store(), reduce=lambda vectors: vectors.T @ vectors)
        moment = np.sum([one for _, one in found], axis=0, dtype=np.float64)
        best = np.linalg.eigvalsh(moment)[::-1][: axes.shape[1]].sum()
        kept = np.trace(axes.T @ moment @ axes)
        whole = np.trace(moment)
        typer.echo(f"{name}: {len(texts):,} passages; kept {kept / whole:.3f}, at best {best / whole:.3f}")


if __name__ == "__main__":
    typer.run(main)
