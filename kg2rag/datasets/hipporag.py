"""HippoRAG's layout, `<name>.json` and `<name>_corpus.json`, of any set -> QADataset.

[1] Gutiérrez et al., "HippoRAG", NeurIPS 2024. The questions have the form of MuSiQue, HotpotQA,
2WikiMultihopQA, or of Natural Questions and PopQA as [1] publishes them; their fields tell which.
Passages keep the order, titles and texts of the corpus file, by which the OpenIE files of [1] are
matched.
"""

from __future__ import annotations

from pathlib import Path

from kg2rag.datasets import hotpotqa, musique, twowiki
from kg2rag.datasets.pool import CORPUS, corpus_beside, read_pooled
from kg2rag.datasets.reading import locate
from kg2rag.datasets.spec import DatasetSpec, LoadOptions
from kg2rag.types import QADataset

# 2WikiMultihopQA is HotpotQA with evidences, so it is tried first.
SCHEMAS = (
    musique.SCHEMA,
    musique.CONTEXTS,
    twowiki.TITLED,
    twowiki.SCHEMA,
    hotpotqa.SCHEMA,
)


def load(options: LoadOptions) -> QADataset:
    """The data set in a folder, or of one of the two files and the other beside it."""
    path = options.path or Path()
    if path.is_file() and not path.name.endswith(CORPUS):
        questions = path
        corpus = corpus_beside(path, path.stem) or locate(
            path.parent, [f"*{CORPUS}"], "HippoRAG corpora"
        )
    else:
        corpus = locate(path, [f"*{CORPUS}"], "HippoRAG corpora")
        names = [corpus.name.replace(CORPUS, ending) for ending in (".json", ".jsonl")]
        questions = locate(
            corpus.parent, [*names, "questions.jsonl"], f"questions for {corpus.name}"
        )
    return read_pooled(options, SCHEMAS, [questions], corpus)


DATASET = DatasetSpec(
    name="hipporag",
    summary="a corpus and questions in HippoRAG's layout, whichever the set",
    load=load,
    licence="MIT (layout); each set its own",
    citation="Gutiérrez et al., HippoRAG: Neurobiologically Inspired Long-Term Memory for LLMs, NeurIPS 2024",
    homepage="https://github.com/OSU-NLP-Group/HippoRAG",
    settings=("pooled", "distractor"),
)
