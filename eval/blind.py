r"""Debian packages with FAQs -> three question sets that nobody had seen when the systems were frozen.

    cd PACKAGES && apt-get download perl-doc python3.11-doc debian-faq debian-reference-en debian-policy \
        developers-reference
    python eval/blind.py PACKAGES DATA/blind

Why: some number of every system was chosen while questions of the reported sets, or scores on them, were known. These
sets were made after the last such choice, and each was run once. They are folders in the layout of BEIR.

A question is a heading of a FAQ that ends in a question mark; its gold is every passage below that heading. Passages
are those of `kg2rag.from_folder`, of the FAQ and of other documents of its kind, but no question stands among the
headings with which a text begins: the title of the chapter and headings that ask nothing remain. Left out are

- passages, of any document, that contain the words of a question's heading: tables of contents and references;
- questions whose answer has fewer than `SHORTEST` words (it stays in the corpus), or lost every passage to that rule.

What gold misses: a passage elsewhere that answers as well counts as wrong, as does another answer of the FAQ to which
the answer refers. A long answer has several gold passages, of which the later ones need not make sense on their own.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

import kg2rag
from kg2rag.datasets.documents.html import read_html
from kg2rag.text.records import sha256
from kg2rag.types import Passage

SHORTEST = 20
"""Words of an answer, from which its question is asked."""
FAQ = "faq"
PACKAGES = {
    "perl-doc": "5.36.0-7+deb12u4",
    "python3.11-doc": "3.11.2-6+deb12u9",
    "debian-faq": "11.1",
    "debian-reference-en": "2.100",
    "debian-policy": "4.6.2.0",
    "developers-reference": "12.18",
}
"""Package -> the version that is read."""
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
    """Where a set's files lie in a package: the FAQ's, and those of other documents."""

    faq: tuple[str, str]
    others: tuple[tuple[str, str], ...]


POD, PYTHON = "usr/share/perl/5.36.0/pod", "usr/share/doc/python3.11/html"
SOURCES = {
    "perl": Source(("perl-doc", f"{POD}/perlfaq[1-9].pod"), tuple(("perl-doc", f"{POD}/{name}.pod") for name in PODS)),
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
"""Set -> its files, as packages and patterns."""
_NUMBER = re.compile(r"^(?:Chapter )?\d+(?:\.\d+)*\.?\s+")
_POD_NAME = re.compile(r"<h1[^>]*>NAME\s*</h1>\s*<p>(.*?)</p>", re.DOTALL)
_ASKS = re.compile(r"\?[)\"'”’]*$")


def main(
    packages: Annotated[Path, typer.Argument(help="The folder of the .deb files.")],
    out: Annotated[Path, typer.Argument(help="The folder of the sets.")],
    only: Annotated[list[str] | None, typer.Argument(help="Sets; all where none is given.")] = None,
) -> None:
    """Make the sets, and print what was left out and the digest of each file."""
    with TemporaryDirectory() as temporary:
        for package, version in PACKAGES.items():
            file = packages / f"{package}_{version}_all.deb"
            subprocess.run(["dpkg", "-x", file, Path(temporary, package)], check=True)
        for name in only or SOURCES:
            folder = Path(temporary, "documents", name)
            collect(SOURCES[name], Path(temporary), folder)
            counts = write(folder, out / name)
            typer.echo(f"{name}: " + ", ".join(f"{count:,} {what}" for what, count in counts.items()))
            for file in sorted((out / name).rglob("*.*")):
                typer.echo(f"  {sha256(file)}  {file.relative_to(out)}")


def collect(source: Source, unpacked: Path, folder: Path) -> None:
    """The source's files as HTML, in a folder by the name of the package; the FAQ's in `FAQ`."""
    for package, pattern in (source.faq, *source.others):
        files = sorted((unpacked / package).glob(pattern))
        if not files:
            raise FileNotFoundError(f"{package} has no {pattern}. Is it of version {PACKAGES[package]}?")
        for file in files:
            below = FAQ if (package, pattern) == source.faq else f"{package}/{file.parent.name}"
            (folder / below).mkdir(parents=True, exist_ok=True)
            target = folder / below / f"{file.stem}.html"
            if file.suffix == ".pod":
                ways = [f"--infile={file}", f"--outfile={target}", f"--cachedir={folder.parent}", "--noindex"]
                subprocess.run(["pod2html", *ways, "--quiet"], check=True, stderr=subprocess.DEVNULL)
                target.write_text(_POD_NAME.sub(r"<h1>\1</h1>", target.read_text("utf-8")), "utf-8")
            else:
                copyfile(file, target)


def write(folder: Path, out: Path) -> Mapping[str, int]:
    """The set of a folder of documents; what it holds and what was left out, counted."""
    documents = kg2rag.from_folder(folder)
    asked, gold, words, rows = dict[str, str](), dict[str, list[str]](), Counter[str](), list[dict[str, str]]()
    for passage in documents.corpus:
        questions, left, rest = divided(passage, headings(folder / passage.doc_id))
        rows.append({"_id": passage.id, "title": passage.title, "text": f"{left}\n{rest}" if left else rest})
        for question in questions:
            key = normal(question)
            asked.setdefault(key, question)
            gold.setdefault(key, []).append(passage.id)
            words[key] += len(rest.split())
    said = {row["_id"]: normal(f"{row['title']}\n{row['text']}") for row in rows}
    named = {id_ for id_, text in said.items() if any(key in text for key in asked)}
    kept = {key: [one for one in found if one not in named] for key, found in gold.items()}
    lost = {key for key, found in kept.items() if not found}
    short = {key for key in kept if words[key] < SHORTEST} - lost
    chosen = [key for key in asked if key not in lost | short]
    passages = [row for row in rows if row["_id"] not in named]
    judged = [f"q{at:03}\t{one}\t1" for at, key in enumerate(chosen) for one in kept[key]]
    (out / "qrels").mkdir(parents=True, exist_ok=True)
    lines(out / "corpus.jsonl", [json.dumps(row, ensure_ascii=False) for row in passages])
    queries = [{"_id": f"q{at:03}", "text": asked[key]} for at, key in enumerate(chosen)]
    lines(out / "queries.jsonl", [json.dumps(row, ensure_ascii=False) for row in queries])
    lines(out / "qrels" / "test.tsv", ["query-id\tcorpus-id\tscore", *judged])
    return {
        "questions": len(queries),
        "passages": len(passages),
        "of them gold": len({one for key in chosen for one in kept[key]}),
        "judgements": len(judged),
        "passages with a question's words left out": len(named),
        "of these below a question": len(named & {one for found in gold.values() for one in found}),
        "questions without gold left out": len(lost),
        "questions with short answers left out": len(short),
    }


def lines(file: Path, rows: Iterable[str]) -> None:
    """A file of these lines."""
    file.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8", newline="\n")


def headings(file: Path) -> Mapping[str, str]:
    """The headings of a FAQ's page as a passage begins with them, cut at 100 characters, and whole; else none."""
    if file.parent.name != FAQ:
        return {}
    return {block.text[:100]: block.text for block in read_html(file.read_bytes())[0].blocks if block.level}


def divided(passage: Passage, whole: Mapping[str, str]) -> tuple[list[str], str, str]:
    """The questions among the headings of a passage, without their numbers; the other headings; the text below."""
    path: Sequence[str] = passage.metadata.get("headings", ())
    asking = [one for one in path if _ASKS.search(whole.get(one, ""))]
    rest = passage.text[len(" > ".join(path)) + 1 :] if path else passage.text
    return [_NUMBER.sub("", whole[one]) for one in asking], " > ".join(one for one in path if one not in asking), rest


def normal(text: str) -> str:
    """A text by its words: blanks, case and the shape of quotes aside."""
    return " ".join(text.casefold().replace("“", '"').replace("”", '"').replace("’", "'").split())


if __name__ == "__main__":
    typer.run(main)
