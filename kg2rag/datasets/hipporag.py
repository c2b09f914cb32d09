"""HippoRAG's layout, `<name>.json` and `<name>_corpus.json`, of any set -> QADataset.

[1] Gutiérrez et al., "HippoRAG", NeurIPS 2024. The questions are written as MuSiQue, HotpotQA or 2WikiMultihopQA write
theirs, which their fields show. Passages keep the corpus file's order, titles and texts, as [1]'s OpenIE files do.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kg2rag.datasets import hotpotqa, musique, twowiki
from kg2rag.datasets.hub import CORPUS, corpus_beside
from kg2rag.datasets.pool import Schema, read_corpus
from kg2rag.datasets.reading import Files, find_graph_files, first_keys, locate
from kg2rag.datasets.spec import DatasetSpec, LoadOptions
from kg2rag.text.records import DataError
from kg2rag.types import QADataset

# The first whose field a record has; 2WikiMultihopQA is HotpotQA with evidences, so it is tried first.
SCHEMAS: dict[str, Schema[Any]] = {
    "paragraphs": musique.SCHEMA,
    "gold_titles": twowiki.TITLED,
    "evidences": twowiki.SCHEMA,
    "context": hotpotqa.SCHEMA,
}


def load(options: LoadOptions) -> QADataset:
    """Read questions and corpus."""
    files = Files()
    questions_path, corpus_path = find(options.path or Path())
    keys = first_keys(files.text(questions_path))
    schema = next((schema for field, schema in SCHEMAS.items() if field in keys), None)
    if schema is None:
        known = ", ".join(SCHEMAS)
        raise DataError(
            f"{questions_path.name}: its records have the fields {keys}; one of {known} identifies their schema."
        )
    pool = schema.pool()
    read_corpus(files, corpus_path, pool)
    questions = schema.questions(files.records(questions_path, schema.record), pool, questions_path.name)
    source = {"files": files.checksums, "notes": dict(pool.notes)}
    name = corpus_path.name.removesuffix(CORPUS)
    graphs = find_graph_files(corpus_path)
    return QADataset(name, pool.corpus(), tuple(questions), options.setting, source=source, graph_files=graphs)


def find(path: Path) -> tuple[Path, Path]:
    """The questions file and the corpus file of a folder, or of one of the two."""
    if path.is_file() and not path.name.endswith(CORPUS):
        corpus = corpus_beside(path, path.stem)
        return path, corpus or locate(path.parent, [f"*{CORPUS}"], "HippoRAG corpora")
    corpus = locate(path, [f"*{CORPUS}"], "HippoRAG corpora")
    stem = corpus.name.removesuffix(CORPUS)
    return locate(
        corpus.parent, [f"{stem}.json", f"{stem}.jsonl", "questions.jsonl"], f"questions for {corpus.name}"
    ), corpus


DATASET = DatasetSpec(
    name="hipporag",
    summary="a corpus and questions in HippoRAG's layout, whichever the set",
    load=load,
    licence="MIT (layout); each set its own",
    citation="Gutiérrez et al., HippoRAG: Neurobiologically Inspired Long-Term Memory for LLMs, NeurIPS 2024",
    homepage="https://github.com/OSU-NLP-Group/HippoRAG",
    settings=("pooled", "distractor"),
)
