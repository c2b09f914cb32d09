"""Official files, or the hub's copy -> QADataset, for sets whose questions bring their own paragraphs.

Finds files by their official names and the split, and takes HippoRAG's corpus file beside the questions where there is
one: the paragraphs are then matched to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from kg2rag.datasets import hub
from kg2rag.datasets.graph_files import find_graph_files
from kg2rag.datasets.pool import Pool, Schema, read_corpus
from kg2rag.datasets.reading import Files, R, check, locate
from kg2rag.datasets.spec import LoadOptions
from kg2rag.types.questions import QADataset

CORPUS = "_corpus.json"
Row = Mapping[str, object]


def load_pooled(
    options: LoadOptions,
    schema: Schema[R],
    files: Mapping[str, tuple[str, ...]],
    *,
    from_hub: Callable[[Row], Row] = lambda row: row,
    about: Callable[[Sequence[R]], Row] = lambda _: {},
) -> QADataset:
    """Read one set.

    Parameters
    ----------
    files : split -> names of its official files; "" -> names of files that belong to no split.
    from_hub : a row of the hub's copy -> the official record.
    about : the records -> what `QADataset.source` says of them.
    """
    name, pool, read = options.spec.name, schema.pool(options.passages), Files()
    if options.path is None:
        rows = hub.rows(options.spec, options.split, options.revision)
        records = check([from_hub(row) for row in rows.rows], schema.record, rows.label)
        where, origin, graphs = rows.label, rows.origin, {}
    else:
        path = locate(options.path, patterns(files, options), f"{name} questions")
        use_corpus(path, name, read, pool)
        records = read.records(path, schema.record)
        where, origin, graphs = path.name, {"files": read.checksums}, find_graph_files(path)
    questions = tuple(schema.questions(records, pool, where))
    source = {**origin, **about(records), "notes": dict(pool.notes)}
    return QADataset(name, pool.corpus(), questions, options.setting, source=source, graph_files=graphs)


def patterns(files: Mapping[str, tuple[str, ...]], options: LoadOptions) -> list[str]:
    """The file names to look for: those of the split, or all where none is given.

    Raises
    ------
    ValueError : a split of a single file.
    """
    if options.path is not None and options.path.is_file() and options.split:
        raise ValueError(f"{options.path.name} is one file: leave out split {options.split!r}, or give its folder.")
    splits = [options.split] if options.split else list(files)
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
