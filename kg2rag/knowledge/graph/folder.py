"""An extraction and its corpus -> a self-describing folder: the graph, the extraction, `build.json`.

The folder is made beside its name and renamed into place, so that no reader sees half a graph, and a build that fails
keeps an older graph. Reading it is `kg2rag.extraction.importers.saved.SavedGraph`, or `KnowledgeGraph.load`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path

from kg2rag.compute import new_file, new_folder, remove_leftovers
from kg2rag.extraction import Extraction, Extractor
from kg2rag.extraction.importers.saved import ABOUT, FAILED, About, CorpusMark, read_about, write_jsonl, write_tables
from kg2rag.knowledge.graph import KnowledgeGraph
from kg2rag.text.records import sha256
from kg2rag.types import Corpus


def check_free(directory: Path, extractor: Extractor, corpus: Corpus) -> None:
    """ValueError where a build would overwrite anything else than the graph of this extractor and corpus."""
    if not directory.exists() or (directory.is_dir() and not any(directory.iterdir())):
        return
    if not directory.is_dir() or not (directory / ABOUT).is_file():
        if directory.is_dir() and [file.name for file in directory.iterdir()] == [FAILED]:
            return
        raise ValueError(f"{directory} exists, and is no graph folder. Give another --out.")
    about = read_about(directory)
    if (about.fingerprint, about.corpus.fingerprint) != (extractor.fingerprint, corpus.fingerprint):
        raise ValueError(
            f"{directory} holds the graph of {about.extractor} over {about.corpus}, which is not the one to be built. "
            "Give another --out, or --force to replace it."
        )


def write_graph(
    directory: Path,
    extraction: Extraction,
    corpus: Corpus,
    extractor: Extractor,
    *,
    corpus_name: str,
    failures: Iterable[Mapping[str, object]] = (),
    failed_passages: int = 0,
    usage: Mapping[str, object] | None = None,
) -> KnowledgeGraph:
    """Build the graph, write the folder, replace what was there; the graph."""
    graph = KnowledgeGraph.build(extraction, corpus)
    remove_leftovers(directory.parent)
    with new_folder(directory, replace=True) as partial:
        graph.save(partial)
        write_tables(extraction, partial)
        written = sorted(file for file in partial.rglob("*") if file.is_file())
        if failed := list(failures):
            write_jsonl(failed, partial / FAILED)  # after the listing: a later build may write it again
        about = About(
            version=version("kg2rag"),
            corpus=CorpusMark(name=corpus_name, passages=len(corpus), fingerprint=corpus.fingerprint),
            extractor=repr(extractor),
            fingerprint=extractor.fingerprint,
            notes=dict(extraction.notes),
            failed_passages=failed_passages,
            usage=None if usage is None else dict(usage),
            files={str(file.relative_to(partial)): sha256(file) for file in written},
        )
        (partial / ABOUT).write_text(about.model_dump_json(indent=1), encoding="utf-8")
    return graph


def write_failures(directory: Path, failures: Iterable[Mapping[str, object]]) -> Path:
    """Write the list of failures where no graph is written; the file. An existing graph is kept."""
    directory.mkdir(parents=True, exist_ok=True)
    with new_file(directory / FAILED) as partial:
        write_jsonl(failures, partial)
    return directory / FAILED
