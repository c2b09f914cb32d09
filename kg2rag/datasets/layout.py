"""Official files, or the hub's copy -> QADataset, for sets whose questions bring their own paragraphs.

Finds files by their official names and the split, and takes HippoRAG's corpus file beside the questions where there is
one: the paragraphs are then matched to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from kg2rag.datasets import hub
from kg2rag.datasets.graph_files import find_graph_files
from kg2rag.datasets.pool import Schema, read_corpus
from kg2rag.datasets.reading import Files, R, check, locate
from kg2rag.datasets.spec import LoadOptions
from kg2rag.types import QADataset

CORPUS = "_corpus.json"
Row = Mapping[str, object]


def load_pooled(
    options: LoadOptions,
    schema: Schema[R],
    files: Mapping[str, tuple[str, ...]],
    *,
    from_hub: Callable[[Row], Row] = lambda row: row,
    counted: Mapping[str, str] = MappingProxyType({}),
) -> QADataset:
    """Read one set.

    Parameters
    ----------
    files : split -> names of its official files; "" -> names of files that belong to no split.
    from_hub : a row of the hub's copy -> the official record.
    counted : entry of `QADataset.source` -> the field whose values it counts.
    """
    name, pool, read = options.spec.name, schema.pool(options.passages), Files()
    if options.path is None:
        rows, where, origin = hub.rows(options.spec, options.split, options.revision)
        records, graphs = check([from_hub(row) for row in rows], schema.record, where), {}
    else:
        path = locate(options.path, patterns(files, options), f"{name} questions")
        corpus = corpus_beside(path, name)
        if corpus is not None and pool.passages == "sentence":
            raise ValueError(
                f"{path.name} is read over {corpus.name}, a corpus of paragraphs: passages 'sentence' needs the "
                "official file in a folder of its own."
            )
        if corpus is not None:
            read_corpus(read, corpus, pool)
        records = read.records(path, schema.record)
        where, origin, graphs = path.name, {"files": read.checksums}, find_graph_files(path)
    questions = tuple(schema.questions(records, pool, where))
    counts = {name: dict(sorted(Counter(getattr(one, of) for one in records).items())) for name, of in counted.items()}
    source = {**origin, **counts, "notes": dict(pool.notes)}
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
