"""Folder and options -> which files to read: official names by split, and the corpus file beside the questions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kg2rag.datasets.entry import Request
from kg2rag.datasets.pool import Pool, read_corpus
from kg2rag.datasets.reading import Files

CORPUS = "_corpus.json"


def patterns(files: Mapping[str, tuple[str, ...]], request: Request) -> list[str]:
    """The file names to look for: those of the split, or all where none is asked for.

    Raises
    ------
    ValueError : a split is asked of a single file.
    """
    if request.path is not None and request.path.is_file() and request.split:
        raise ValueError(f"{request.path.name} is one file: leave out split {request.split!r}, or give its folder.")
    splits = [request.split] if request.split else list(files)
    return [name for split in splits for name in files.get(split, ())]


def corpus_beside(questions: Path, name: str) -> Path | None:
    """HippoRAG's corpus file of those questions: `<questions>_corpus.json` or `<name>_corpus.json` in their folder."""
    options = (questions.with_name(f"{questions.stem}{CORPUS}"), questions.with_name(f"{name}{CORPUS}"))
    return next((file for file in options if file.is_file()), None)


def use_corpus(questions: Path, name: str, files: Files, pool: Pool) -> bool:
    """Fill and close the pool with the corpus file beside the questions; False where there is none.

    Raises
    ------
    ValueError : sentences are to be the passages, and corpus files know none.
    """
    corpus = corpus_beside(questions, name)
    if corpus is None:
        return False
    if pool.passages == "sentence":
        raise ValueError(
            f"{questions.name} is read over {corpus.name}, a corpus of paragraphs: passages 'sentence' needs the "
            "official file in a folder of its own."
        )
    read_corpus(files, corpus, pool)
    return True
