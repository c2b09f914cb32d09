"""FAQs whose answers refer to manual pages -> whether the pages' own links lead to what an answer refers to.

    apt-get download perl-doc python3.11-doc
    for package in perl-doc python3.11-doc; do dpkg -x ${package}_*.deb PACKAGES; done
    python eval/faq_links.py PACKAGES FOLDERS eval/results/domains/faq_links.parquet

A question is a heading of the FAQ with a question mark; gold are the manual pages that its answer
links to. The corpus is every page that some answer links to, as `from_folder` divides it, with the
pages' links; the FAQ itself is not in it. Judgements are of pages: a page has the rank of its best
passage. The placebo is the same graph, shuffled.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from shutil import copyfile
from typing import Annotated

import pandas as pd
import typer
from bs4 import BeautifulSoup

import kg2rag
from kg2rag.extraction.links import links_of
from kg2rag.types import QADataset

PODS, PYTHON = "usr/share/perl/5.36.0/pod", "usr/share/doc/python3.11/html"
BASELINES = ["bm25", "dense", "hybrid"]
SYSTEMS = ["expansion_queries", "graph_augmented"]
METRIC = "recall@5"
PLACEBOS = 3
TO_HTML = (
    "my $parser = Pod::Simple::XHTML->new; $parser->perldoc_url_prefix(''); "
    "$parser->perldoc_url_postfix('.html'); $parser->index(0); $parser->output_string(\\my $page); "
    "$parser->parse_file($ARGV[0]); binmode STDOUT, ':utf8'; print $page"
)
_POD_NAME = re.compile(r"<h1[^>]*>NAME\s*</h1>\s*<p>(.*?)</p>", re.DOTALL)

Answers = Iterator[tuple[str, set[str]]]
"""Questions, and the pages that each answer links to, as paths beside the FAQ."""


def perl_pages(packages: Path, folder: Path) -> tuple[list[Path], list[Path]]:
    """Write the manual pages of Perl as HTML, and return the pages of the FAQ and the others."""
    faq, pages = [], []
    for pod in sorted((packages / PODS).glob("*.pod")):
        if re.match(r"perl5\d+delta|perltoc|perlfaq$", pod.stem):
            continue
        command = ["perl", "-MPod::Simple::XHTML", "-e", TO_HTML, str(pod)]
        page = subprocess.run(command, check=True, capture_output=True).stdout.decode(
            "utf-8"
        )
        target = folder / f"{pod.stem}.html"
        target.write_text(_POD_NAME.sub(r"<h1>\1</h1>", page), "utf-8")
        (faq if pod.stem.startswith("perlfaq") else pages).append(target)
    return faq, pages


def python_pages(packages: Path, folder: Path) -> tuple[list[Path], list[Path]]:
    """Copy the documentation of Python, and return the pages of the FAQ and the others."""
    faq, pages = [], []
    for source in sorted((packages / PYTHON).rglob("*.html")):
        target = folder / source.relative_to(packages / PYTHON)
        target.parent.mkdir(parents=True, exist_ok=True)
        copyfile(source, target)
        if source.stem != "index":
            (faq if source.parent.name == "faq" else pages).append(target)
    return faq, pages


SETS: dict[str, Callable[[Path, Path], tuple[list[Path], list[Path]]]] = {
    "perl": perl_pages,
    "python": python_pages,
}


def answers_of(page: Path) -> Answers:
    """The questions of a page of the FAQ, with the pages that the text below each links to."""
    soup = BeautifulSoup(page.read_text("utf-8"), "lxml")
    for heading in soup.find_all(["h2", "h3"]):
        question = heading.get_text(" ", strip=True).removesuffix("¶").strip()
        linked = set()
        for element in heading.find_all_next(True):
            if element.name in ("h1", "h2", "h3"):
                break
            address = str(element.get("href") or "").partition("#")[0]
            if address.endswith(".html") and ":" not in address:
                linked.add(address)
        if question.endswith("?"):
            yield question, linked


def read_set(name: str, packages: Path, folder: Path) -> QADataset:
    """A set by name; its pages are written into `folder`, and those that no answer links to removed."""
    folder.mkdir(parents=True)
    faq, pages = SETS[name](packages, folder)
    places = {page.relative_to(folder).as_posix() for page in pages}
    questions = []
    for page in faq:
        for question, linked in answers_of(page):
            gold = {(page.parent / address).resolve() for address in linked}
            named = {path.relative_to(folder.resolve()).as_posix() for path in gold}
            if named & places:
                questions.append({"question": question, "gold": sorted(named & places)})
    linked_pages = {place for question in questions for place in question["gold"]}
    for page in folder.rglob("*.html"):
        if page.relative_to(folder).as_posix() not in linked_pages:
            page.unlink()
    return kg2rag.from_folder(folder).with_questions(pd.DataFrame(questions))


def gold_pages(data: QADataset) -> dict[str, set[str]]:
    """Question -> the documents of its gold passages."""
    document_of = {passage.id: passage.doc_id for passage in data.corpus}
    return {
        question.id: {document_of.get(id_, id_) for id_ in question.gold}
        for question in data.questions
    }


def share_joined(data: QADataset) -> pd.Series[float]:
    """The share of pairs of gold pages of a question, and of all pairs of pages, that a link joins."""
    documents = data.corpus.doc_ids
    joined = {
        frozenset((documents[link.row], documents[link.target]))
        for link in links_of(data.corpus)
    }
    golds = gold_pages(data).values()
    pairs = [
        frozenset(pair) for gold in golds for pair in combinations(sorted(gold), 2)
    ]
    every = [frozenset(pair) for pair in combinations(sorted(set(documents)), 2)]
    shares = {
        kind: sum(pair in joined for pair in group) / len(group)
        for kind, group in (("gold_pairs", pairs), ("all_pairs", every))
    }
    return pd.Series(shares)


def measure(name: str, data: QADataset) -> pd.DataFrame:
    """Recall of pages by each system without a graph, over the links, and over shuffled links, with the gain."""
    kb = kg2rag.KnowledgeBase.build(data.corpus, "links")
    placebos = [kb.placebo(seed) for seed in range(PLACEBOS)]
    graphs = {"links": kb, "links-shuffled": placebos}
    plain = {system: kg2rag.systems.build(system, kb) for system in BASELINES}
    without_graph = kg2rag.compare(plain, data, metrics=[METRIC])
    with_graph = kg2rag.compare(SYSTEMS, data, metrics=[METRIC], graphs=graphs)
    gains = with_graph.against_placebo(METRIC).rename(columns={"strategy": "system"})
    scores = without_graph.per_query.groupby("system", sort=False)[METRIC].mean()
    rows = pd.concat([scores.rename("mean").reset_index(), gains], ignore_index=True)
    sizes = {
        "set": name,
        "questions": len(data.questions),
        "pages": len(set(data.corpus.doc_ids)),
        "passages": len(data.corpus),
        "links": sum(1 for _ in links_of(data.corpus)),
        **share_joined(data),
    }
    return rows.assign(**sizes)


def main(
    packages: Annotated[
        Path, typer.Argument(help="The folder of the unpacked packages.")
    ],
    folder: Annotated[
        Path, typer.Argument(help="A new folder, for the pages of each set.")
    ],
    out: Annotated[Path, typer.Argument(help="The Parquet file to write.")],
    only: Annotated[
        list[str] | None, typer.Option(help="A set; by default all.")
    ] = None,
) -> None:
    """Measure the sets, and print a line for each system."""
    frames = []
    for name in only or SETS:
        frames.append(measure(name, read_set(name, packages, folder / name)))
        typer.echo(frames[-1].round(3).to_string())
    pd.concat(frames, ignore_index=True).to_parquet(out, index=False)


if __name__ == "__main__":
    typer.run(main)
