r"""Debian packages with FAQs -> three question sets that nobody had seen when the systems were frozen.

    cd PACKAGES && apt-get download perl-doc python3.11-doc debian-faq debian-reference-en debian-policy \
        developers-reference
    python eval/blind.py PACKAGES DATA/blind

Every system has parameters that were chosen while questions of the reported sets, or scores on them, were known. These
sets were made after the last such choice, and each was run once. They are folders in the layout of BEIR.

A question is a heading of a FAQ that ends in a question mark; its gold passages are all passages below that heading.
The corpus is made by `kg2rag.from_folder` from the FAQ and other documents of its kind. A passage begins with the title
of its chapter and its headings, without those that are questions. Left out are

- passages of any document that contain the words of a question: tables of contents and references;
- questions whose answer has fewer than `MIN_WORDS` words, or no passage left by that rule. Short answers stay in the
  corpus.

Gold is incomplete: another passage that answers the question counts as wrong, as does another answer of the FAQ that
the gold answer refers to. A long answer has several gold passages; the later ones may make little sense by themselves.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

import kg2rag
from kg2rag.datasets.documents.web.html import read_html
from kg2rag.text.records import sha256
from kg2rag.types import Passage

MIN_WORDS = 20
"""Words of an answer whose question is asked."""
FAQ = "faq"
PACKAGES = {
    "perl-doc": "5.36.0-7+deb12u4",
    "python3.11-doc": "3.11.2-6+deb12u9",
    "debian-faq": "11.1",
    "debian-reference-en": "2.100",
    "debian-policy": "4.6.2.0",
    "developers-reference": "12.18",
}
"""Package -> its version."""
PODS = (
    "perlintro perldata perlsyn perlop perlsub perlfunc perlre perlrequick perlreftut perldsc perllol perlmod perlobj "
    "perlootut perlopentut perlrun perlstyle perltrap"
).split()
HOWTO = "annotations argparse curses descriptor functional pyporting regex sockets sorting unicode urllib2".split()
LIBRARY = (
    "functions stdtypes string re collections itertools functools copy pickle io subprocess threading queue sys random "
    "math weakref shutil glob"
).split()


@dataclass(frozen=True)
class Source:
    """The files of a set, as packages and patterns: those of the FAQ, and those of other documents."""

    faq: tuple[str, str]
    distractors: tuple[tuple[str, str], ...]


POD, PYTHON = "usr/share/perl/5.36.0/pod", "usr/share/doc/python3.11/html"
SOURCES = {
    "perl": Source(
        ("perl-doc", f"{POD}/perlfaq[1-9].pod"),
        tuple(("perl-doc", f"{POD}/{name}.pod") for name in PODS),
    ),
    "python": Source(
        ("python3.11-doc", f"{PYTHON}/faq/[!i]*.html"),
        (
            ("python3.11-doc", f"{PYTHON}/tutorial/*.html"),
            *(("python3.11-doc", f"{PYTHON}/howto/{name}.html") for name in HOWTO),
            *(("python3.11-doc", f"{PYTHON}/library/{name}.html") for name in LIBRARY),
        ),
    ),
    "debian": Source(
        ("debian-faq", "usr/share/doc/debian/FAQ/[!i]*.en.html"),
        (
            ("debian-reference-en", "usr/share/debian-reference/ch*.en.html"),
            ("debian-policy", "usr/share/doc/debian-policy/policy.html/*-*.html"),
            ("developers-reference", "usr/share/developers-reference/[!is]*[!e].html"),
        ),
    ),
}
"""Set -> its files."""
_NUMBER = re.compile(r"^(?:Chapter )?\d+(?:\.\d+)*\.?\s+")
_POD_NAME = re.compile(r"<h1[^>]*>NAME\s*</h1>\s*<p>(.*?)</p>", re.DOTALL)
_QUESTION = re.compile(r"\?[)\"'”’]*$")


def main(
    packages: Annotated[Path, typer.Argument(help="The folder of the .deb files.")],
    out: Annotated[Path, typer.Argument(help="The folder of the sets.")],
    only: Annotated[
        list[str] | None, typer.Argument(help="Sets; by default all.")
    ] = None,
) -> None:
    """Make the sets, and print how much was left out and the checksum of each file."""
    with TemporaryDirectory() as temporary:
        for package, version in PACKAGES.items():
            file = packages / f"{package}_{version}_all.deb"
            subprocess.run(["dpkg", "-x", file, Path(temporary, package)], check=True)
        for name in only or SOURCES:
            folder = Path(temporary, "documents", name)
            collect(SOURCES[name], Path(temporary), folder)
            counts = write(folder, out / name)
            typer.echo(
                f"{name}: "
                + ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
            )
            for file in sorted((out / name).rglob("*.*")):
                typer.echo(f"  {sha256(file)}  {file.relative_to(out)}")


def collect(source: Source, unpacked: Path, folder: Path) -> None:
    """Write the files of a source as HTML: the FAQ in the folder `FAQ`, others in the folder of their package."""
    for package, pattern in (source.faq, *source.distractors):
        files = sorted((unpacked / package).glob(pattern))
        if not files:
            raise FileNotFoundError(
                f"{package} has no {pattern}. Is it of version {PACKAGES[package]}?"
            )
        for file in files:
            place = f"{package}/{file.parent.name}"
            if (package, pattern) == source.faq:
                place = FAQ
            target = folder / place / f"{file.stem}.html"
            target.parent.mkdir(parents=True, exist_ok=True)
            if file.suffix == ".pod":
                pod_to_html(file, target, folder.parent)
            else:
                copyfile(file, target)


def pod_to_html(file: Path, target: Path, cache: Path) -> None:
    """Convert a page of Perl's documentation, with its name as the title."""
    paths = [f"--infile={file}", f"--outfile={target}", f"--cachedir={cache}"]
    command = ["pod2html", *paths, "--noindex", "--quiet"]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    page = target.read_text("utf-8")
    target.write_text(_POD_NAME.sub(r"<h1>\1</h1>", page), "utf-8")


@dataclass
class Answer:
    """A question of the FAQ: its text, its gold passages and the number of words below its heading."""

    question: str
    gold: list[str] = field(default_factory=list)
    words: int = 0


def write(folder: Path, out: Path) -> dict[str, int]:
    """Write the set of a folder of documents; the sizes of the set and of the parts that were left out."""
    passages, answers = read(folder)
    referring = {passage["_id"] for passage in passages if refers(passage, answers)}
    corpus = [passage for passage in passages if passage["_id"] not in referring]
    n_lost = n_short = 0
    queries, judgements = [], []
    for answer in answers.values():
        gold = [passage_id for passage_id in answer.gold if passage_id not in referring]
        if not gold:
            n_lost += 1
        elif answer.words < MIN_WORDS:
            n_short += 1
        else:
            query_id = f"q{len(queries):03}"
            queries.append({"_id": query_id, "text": answer.question})
            judgements += [(query_id, passage_id) for passage_id in gold]
    write_beir(out, corpus, queries, judgements)
    return {
        "questions": len(queries),
        "passages": len(corpus),
        "gold passages": len({passage_id for _, passage_id in judgements}),
        "judgements": len(judgements),
        "passages with the words of a question left out": len(referring),
        "questions without gold left out": n_lost,
        "questions with short answers left out": n_short,
    }


def read(folder: Path) -> tuple[list[dict[str, str]], dict[str, Answer]]:
    """The passages of a folder without their questions, and each normalised question with its answer."""
    passages, answers = [], dict[str, Answer]()
    for passage in kg2rag.from_folder(folder).corpus:
        questions, prefix, text = divided(passage, headings(folder / passage.doc_id))
        written = f"{prefix}\n{text}" if prefix else text
        passages.append({"_id": passage.id, "title": passage.title, "text": written})
        for question in questions:
            answer = answers.setdefault(normalised(question), Answer(question))
            answer.gold.append(passage.id)
            answer.words += len(text.split())
    return passages, answers


def refers(passage: Mapping[str, str], questions: Iterable[str]) -> bool:
    """Whether a passage contains the words of a normalised question."""
    text = normalised(f"{passage['title']}\n{passage['text']}")
    return any(question in text for question in questions)


def write_beir(
    out: Path,
    passages: Iterable[Mapping[str, str]],
    queries: Iterable[Mapping[str, str]],
    judgements: Iterable[tuple[str, str]],
    *,
    ensure_ascii: bool = False,
) -> None:
    """Write a set in the layout of BEIR; judgements: pairs of query and gold passage."""
    (out / "qrels").mkdir(parents=True, exist_ok=True)
    as_json = partial(json.dumps, ensure_ascii=ensure_ascii)
    write_lines(out / "corpus.jsonl", map(as_json, passages))
    write_lines(out / "queries.jsonl", map(as_json, queries))
    pairs = (f"{query_id}\t{passage_id}\t1" for query_id, passage_id in judgements)
    write_lines(out / "qrels" / "test.tsv", ["query-id\tcorpus-id\tscore", *pairs])


def write_lines(file: Path, lines: Iterable[str]) -> None:
    """Write a text file."""
    file.write_text(
        "".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n"
    )


def headings(file: Path) -> dict[str, str]:
    """The headings of a page of the FAQ: the first 100 characters, as a passage has them -> the heading; else none."""
    if file.parent.name != FAQ:
        return {}
    blocks = read_html(file.read_bytes())[0].blocks
    return {block.text[:100]: block.text for block in blocks if block.level}


def divided(
    passage: Passage, headings_of_page: Mapping[str, str]
) -> tuple[list[str], str, str]:
    """The questions among the headings of a passage, without numbers; the other headings; the text below them."""
    path: Sequence[str] = passage.metadata.get("headings", ())
    text = passage.text
    if path:
        text = text[len(" > ".join(path)) + 1 :]
    questions = [
        heading
        for heading in path
        if _QUESTION.search(headings_of_page.get(heading, ""))
    ]
    prefix = " > ".join(heading for heading in path if heading not in questions)
    return (
        [_NUMBER.sub("", headings_of_page[heading]) for heading in questions],
        prefix,
        text,
    )


def normalised(text: str) -> str:
    """A text without differences of blanks, case and quotation marks."""
    return " ".join(
        text.casefold().replace("“", '"').replace("”", '"').replace("’", "'").split()
    )


if __name__ == "__main__":
    typer.run(main)
