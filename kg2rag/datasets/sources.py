"""Where each public set comes from: licence, paper, home page and place on the Hugging Face hub, as data.

The hub copies of MuSiQue and 2WikiMultihopQA are re-uploads of the official files by users of the hub, since their
authors publish none; the commit that was read stands in every result.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Source:
    """The origin of one set; `repo` is empty where the set is not read from the hub.

    Attributes
    ----------
    config : the repository's configuration, None for its only one.
    revision : branch, tag or commit read where the caller names none.
    splits : the hub's splits that carry answers and gold; the first is the default.
    """

    licence: str
    citation: str
    homepage: str
    repo: str = ""
    config: str | None = None
    revision: str = "main"
    splits: tuple[str, ...] = ()


_HO_2020 = "Ho et al., Constructing A Multi-hop QA Dataset for Comprehensive Evaluation of Reasoning Steps, COLING 2020"

SOURCES: dict[str, Source] = {
    "2wiki-kg": Source(
        licence="Apache-2.0 (2WikiMultihopQA), MIT (graph)",
        citation=_HO_2020,
        homepage="https://github.com/Alab-NII/2wikimultihop",
    ),
    "2wikimultihopqa": Source(
        licence="Apache-2.0",
        citation=_HO_2020,
        homepage="https://github.com/Alab-NII/2wikimultihop",
        repo="framolfese/2WikiMultihopQA",
        splits=("validation", "train"),
    ),
    "beir": Source(
        licence="each set its own",
        citation="Thakur et al., BEIR: A Heterogeneous Benchmark for Zero-shot Evaluation of IR Models, NeurIPS 2021",
        homepage="https://github.com/beir-cellar/beir",
    ),
    "bundled": Source(
        licence="Apache-2.0",
        citation="The kg2rag developers",
        homepage="",
    ),
    "cosqa": Source(
        licence="C-UDA",
        citation="Huang et al., CoSQA: 20,000+ Web Queries for Code Search and Question Answering, ACL 2021",
        homepage="https://github.com/microsoft/CodeXGLUE",
    ),
    "hipporag": Source(
        licence="MIT (layout); each set its own",
        citation="Gutiérrez et al., HippoRAG: Neurobiologically Inspired Long-Term Memory for LLMs, NeurIPS 2024",
        homepage="https://github.com/OSU-NLP-Group/HippoRAG",
    ),
    "hotpotqa": Source(
        licence="CC BY-SA 4.0",
        citation="Yang et al., HotpotQA: A Dataset for Diverse, Explainable Multi-hop Question Answering, EMNLP 2018",
        homepage="https://hotpotqa.github.io",
        repo="hotpotqa/hotpot_qa",
        # "fullwiki" differs in its contexts only: an automatic retriever chose them, and they often lack the gold.
        config="distractor",
        splits=("validation", "train"),
    ),
    "musique": Source(
        licence="CC BY 4.0",
        citation="Trivedi et al., MuSiQue: Multihop Questions via Single-hop Question Composition, TACL 2022",
        homepage="https://github.com/StonyBrookNLP/musique",
        repo="dgslibisey/MuSiQue",
        splits=("validation", "train"),
    ),
    "world": Source(
        licence="Apache-2.0",
        citation="The kg2rag developers; synthetic",
        homepage="",
    ),
}
