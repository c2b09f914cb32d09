"""Trials of folders of documents: words that vanish, files that change, files that end a folder, and large ones."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from file_makers import docx_of, paragraph, pdf_of, zip_of
from harness import (
    HEAVY,
    KEY,
    LOST,
    SILENT,
    Finding,
    command,
    contents,
    documents,
    expect,
    passages,
    step,
    succeed,
    trial,
    write,
)

WORDS, OUTPUTS, BAD_FILE, SIZE, STORE = (
    "4 documents",
    "5 outputs",
    "9 bad file",
    "10 sizes",
    "12 folders",
)


def words_of(folder: str = "documents") -> str:
    """All passages of a folder as one text."""
    return "\n".join(passages(folder))


LINES = [
    f"A line number {word} of some length about engines"
    for word in ("one", "two", "three", "four")
]
PDFS: dict[str, list[list[str]]] = {
    "totals at the foot": [[*LINES, "Total 12.5"], [*LINES[::-1], "Total 99.9"]],
    "invoices": [[f"Invoice {i} is paid."] for i in range(3)],
    "chapters at the head": [["Chapter 1", *LINES], ["Chapter 2", *LINES[::-1]]],
    "dates at the head": [
        ["1815-12-10", *LINES],
        ["1852-11-27", *LINES[::-1]],
        ["1843-01-01", *LINES],
    ],
}


@trial(WORDS, *PDFS)
def words_of_a_pdf(name: str) -> None:
    """Lines that differ by their numbers are no running head."""
    documents(**{"paper.pdf": pdf_of(*PDFS[name])})
    text = words_of()
    for line in {line for page in PDFS[name] for line in page}:
        if line not in text:
            raise Finding(SILENT, f"{line!r} is lost")


@trial(WORDS, "jsonl", "csv", "from_texts")
def the_document_of_a_passage(kind: str) -> None:
    """The documents and positions of rows are kept."""
    rows = [
        {"id": f"p{i}", "text": f"Ada wrote letter {i}.", "doc_id": "d", "position": i}
        for i in range(3)
    ]

    def read() -> list[object]:
        import kg2rag

        if kind == "from_texts":
            corpus = kg2rag.from_texts(rows).corpus
        else:
            corpus = kg2rag.load("documents").corpus
        return [[p.doc_id, p.position] for p in corpus if "letter" in p.text]

    lines = [
        "id,text,doc_id,position",
        *(f"{r['id']},{r['text']},{r['doc_id']},{r['position']}" for r in rows),
    ]
    text = "\n".join(map(json.dumps, rows)) if kind == "jsonl" else "\n".join(lines)
    if kind != "from_texts":
        write({f"documents/rows.{kind}": text})
    rows_read = step(read)
    expect([position for _, position in rows_read], [0, 1, 2], about=str(rows_read))
    expect(
        [str(document).endswith("d") for document, _ in rows_read],
        [True] * 3,
        about=str(rows_read),
    )


@trial(WORDS, "a column twice", "a column named file", "a column named headings")
def columns_of_a_table(kind: str) -> None:
    """A column is neither lost nor read as a column of kg2rag."""
    head = {
        "a column twice": "id,text,text",
        "a column named file": "id,text,file",
    }.get(kind, "id,text,headings")
    write(
        {
            "documents/rows.csv": f"{head}\n1,Ada wrote much.,mine of old\n2,Charles built much.,mine of new\n"
        }
    )

    def read() -> list[str]:
        import kg2rag

        data = kg2rag.load("documents")
        return [f"{p.text} {dict(p.metadata)}" for p in data.corpus] + [
            repr(data.report.to_dict())
        ]

    try:
        text = " ".join(step(read))
    except RuntimeError as error:
        if "rows.csv" not in str(error) and "text" not in str(error):
            raise
        return  # refused, and reported
    if (
        not ("mine of old" in text and "Ada wrote" in text)
        and "rows.csv" not in text.split("skipped")[0]
    ):
        raise Finding(SILENT, text)


@trial(WORDS, "first", "second")
def a_file_that_changes_while_it_is_read(last: str) -> None:
    """A store has no text under the checksum of another."""
    texts = {
        "first": "Ada wrote the first text.",
        "second": "Ada wrote the second text.",
    }
    documents()
    path = Path("documents", "changing.md")
    path.write_text(texts["first"])
    stop = threading.Event()

    def change() -> None:
        while not stop.is_set():
            for text in texts.values():
                new = path.with_name(".new")
                new.write_text(text)
                new.replace(path)

    def read_often() -> None:
        import kg2rag

        writer = threading.Thread(target=change, daemon=True)
        writer.start()
        for _ in range(60):
            kg2rag.load("documents")
        stop.set()
        writer.join()

    step(read_often)
    path.write_text(texts[last])
    if texts[last] not in words_of():
        raise Finding(SILENT, "the other content was read from the store")


@trial(OUTPUTS, "known items", "comparison", "both, twice", "sweep", "graph")
def the_tool_in_its_own_folder(what: str) -> None:
    """Outputs beside documents are no documents."""
    documents()
    os.chdir("documents")
    before = passages(".")
    for _ in range(2 if "twice" in what else 1):
        if what in ("known items", "both, twice"):
            succeed("questions", ".", "--known-item", "--limit", "3", kind=SILENT)
        if what in ("comparison", "both, twice"):
            write({"../q.jsonl": '{"question": "Who wrote?", "gold": "Ada.md"}\n'})
            questions = "questions.jsonl" if what == "both, twice" else "../q.jsonl"
            succeed(
                "compare",
                ".",
                "--questions",
                questions,
                "--systems",
                "bm25",
                "--metrics",
                "recall@1",
                kind=SILENT,
            )
        if what == "sweep":
            write(
                {
                    "../s.toml": 'name="s"\ndata="bundled"\nmetrics=["recall@5"]\n[systems.bm25]\nk1=[0.9,1.2]\n'
                }
            )
            succeed("sweep", "../s.toml", "--run", "--out", "sweeps", kind=SILENT)
        if what == "graph":
            succeed(
                "build",
                ".",
                "--extractor",
                "cooccurrence",
                "--out",
                "graph",
                kind=SILENT,
            )
    expect(len(passages(".")), len(before), about="passages")


def odd_files(folder: Path) -> dict[str, Callable[[], object]]:
    """Name of a kind of bad file -> a function that makes it."""
    return {
        "a FIFO": lambda: os.mkfifo(folder / "pipe.md"),
        "a FIFO that is a page": lambda: os.mkfifo(folder / "pipe.html"),
        "a socket": lambda: socket.socket(socket.AF_UNIX).bind(
            str(folder / "sock.txt")
        ),
        "a link to nowhere": lambda: (folder / "dangling.md").symlink_to("nowhere"),
        "a page that leads to nowhere": lambda: (folder / "dangling.html").symlink_to(
            "nowhere"
        ),
        "a link to itself": lambda: (folder / "loop.md").symlink_to("loop.md"),
        "a link to a folder above": lambda: (folder / "up").symlink_to(".."),
        "a name that is not UTF-8": lambda: Path(
            os.fsdecode(bytes(folder) + b"/na\xffme.md")
        ).write_text("Text of it."),
        "a name with a line feed": lambda: (folder / "two\nlines.md").write_text(
            "Text of it."
        ),
        "no permission": lambda: (
            (folder / "closed.md").write_text("secret")
            and (folder / "closed.md").chmod(0)
        ),
        "a folder without permission": lambda: (folder / "closed").mkdir(0),
        "two gigabytes of text": lambda: sparse(folder / "large.txt", (2 << 30) + 9),
        "a device": lambda: (folder / "zero.txt").symlink_to("/dev/zero"),
        "an empty file": lambda: (folder / "empty.md").touch(),
        "a folder with the name of a file": lambda: (folder / "folder.md").mkdir(),
        "no UTF-8": lambda: (folder / "bytes.txt").write_bytes(bytes(range(256)) * 9),
        "half a surrogate in JSON": lambda: (folder / "half.jsonl").write_text(
            '{"text": "\\ud800"}\n'
        ),
        "deep JSON": lambda: (folder / "deep.jsonl").write_text("[" * 100_000 + "\n"),
        "a CSV of one quotation mark": lambda: (folder / "quote.csv").write_text(
            'id,text\n1,"never closed\n'
        ),
        "no zip": lambda: (folder / "word.docx").write_bytes(b"PK\x03\x04 no"),
        "no PDF": lambda: (folder / "paper.pdf").write_bytes(b"%PDF-1.4 no"),
        "no HTML": lambda: (folder / "page.html").write_bytes(b"\x00<\xff" * 999),
    }


def sparse(path: Path, size: int) -> None:
    """Write a file of zeros that occupies no space."""
    with path.open("wb") as stream:
        stream.truncate(size)


@trial(BAD_FILE, *odd_files(Path()))
def one_bad_file(kind: str) -> None:
    """The other files are read."""
    documents()
    odd_files(Path("documents"))[kind]()
    if os.geteuid() == 0 and "permission" in kind:
        return  # root reads everything
    text = words_of()
    if "Ada Lovelace knew" not in text or "Emmy Noether knew" not in text:
        raise Finding(LOST, "other files are missing")


@trial(BAD_FILE, "gone since the listing", "a path that is too long")
def one_file_that_cannot_be_reached(kind: str) -> None:
    """A file that vanishes while a folder is read, and a file whose path is too long to open."""
    documents()
    if kind.startswith("a path"):
        here = Path.cwd()
        os.chdir("documents")
        for _ in range(30):
            Path("d" * 200).mkdir()
            os.chdir("d" * 200)
        Path("deep.md").write_text("Text of it.")
        os.chdir(here)
    else:
        for i in range(300):
            Path("documents", f"z{i}.md").write_text(f"Text number {i} of some.")

        def vanish() -> None:
            time.sleep(0.3)
            for i in range(300):
                Path("documents", f"z{i}.md").unlink()
                time.sleep(0.002)

        def read() -> str:
            import kg2rag

            threading.Thread(target=vanish, daemon=True).start()
            return "\n".join(p.text for p in kg2rag.load("documents").corpus)

        if "Ada Lovelace knew" not in step(read):
            raise Finding(LOST, "other files are missing")
        return
    if "Ada Lovelace knew" not in words_of():
        raise Finding(LOST, "other files are missing")


@trial(BAD_FILE)
def a_sweep_in_which_every_configuration_fails_says_why() -> None:
    """The cause is printed."""
    lines = 'name="s"\ndata="bundled"\nmetrics=["recall@5"]\nencoder="nowhere/none"\n[systems.dense]\nk=[1]\n'
    write({"s.toml": lines})
    done = command("sweep", "s.toml", "--run")
    if "not in index" in done.output or (
        "nowhere/none" not in done.output and "parameter" not in done.output
    ):
        raise Finding(LOST, done.output[-300:])


def bomb_pdf() -> bytes:
    """A PDF whose page unpacks to half a gigabyte."""
    packed = zlib.compress(b"BT (a) Tj ET\n" * (40 << 20))
    parts = [
        b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj",
        b"2 0 obj\n<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"endobj\n3 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R >>\nendobj\n4 0 obj",
        b"<< /Length %d /Filter /FlateDecode >>\nstream" % len(packed),
        packed,
        b"endstream\nendobj\ntrailer\n<< /Root 1 0 R >>\n%%EOF",
    ]
    return b"\n".join(parts)


LARGE: dict[str, tuple[str, Callable[[], str | bytes]]] = {
    "a word of a million letters": ("word.md", lambda: "a" * 1_000_000),
    "a million letters of Chinese": ("han.md", lambda: "知識" * 500_000),
    "fifty megabytes of prose": (
        "prose.txt",
        lambda: "Ada wrote a letter about engines to Charles.\n\n" * 1_100_000,
    ),
    "a line of ten megabytes": ("line.txt", lambda: "Ada wrote a letter. " * 500_000),
    "a Word document of 8 MB in 34 kB": (
        "small.docx",
        lambda: docx_of(paragraph("a") * 240_000),
    ),
    "a Word document of a gigabyte": (
        "bomb.docx",
        lambda: zip_of({"word/document.xml": b"<w:document>".ljust(1 << 30)}),
    ),
    "a PDF that unpacks": ("bomb.pdf", bomb_pdf),
    "front matter of blanks": (
        "front.md",
        lambda: "---\n" + " " * 200_000 + "\nAda wrote.\n",
    ),
    "front matter of colons": (
        "front.md",
        lambda: "---\n" + "a: " * 100_000 + "\n---\nAda wrote.\n",
    ),
    "brackets": ("links.md", lambda: "[" * 100_000 + "Ada wrote."),
    "emphasis": ("stars.md", lambda: "*a **b " * 30_000),
    "quotes": ("quotes.md", lambda: ">" * 50_000 + " Ada"),
    "a list that is deep": (
        "list.md",
        lambda: "\n".join(" " * i + "- a" for i in range(2_000)),
    ),
    "a table of many columns": (
        "table.md",
        lambda: f"{'|a' * 20_000}\n{'|-' * 20_000}\n{'|b' * 20_000}",
    ),
    "elements that nest": ("deep.html", lambda: "<div>" * 50_000 + "Ada wrote."),
    "elements that never close": ("open.html", lambda: "<p><b><i>" * 50_000),
    "attributes": (
        "attributes.html",
        lambda: "<p " + "a=b " * 300_000 + ">Ada wrote.</p>",
    ),
    "entities": ("entities.html", lambda: "<p>" + "&amp;" * 1_000_000),
    "a cell of fifty megabytes": (
        "cell.csv",
        lambda: "id,text\n1," + "Ada wrote a letter. " * 2_500_000,
    ),
    "a hundred thousand rows": (
        "rows.csv",
        lambda: "id,text\n" + "".join(f"{i},Ada wrote {i}.\n" for i in range(100_000)),
    ),
    "headings": (
        "heads.md",
        lambda: "".join(f"# Head {i}\n\nText {i}.\n\n" for i in range(20_000)),
    ),
    "full stops": ("stops.txt", lambda: "." * 1_000_000),
    "blanks": ("blanks.txt", lambda: "Ada" + " " * 5_000_000 + "wrote"),
    "line feeds": ("feeds.md", lambda: "Ada" + "\n" * 3_000_000 + "wrote"),
    "combining accents": ("zalgo.txt", lambda: "a" + "\u0301" * 500_000),
    "backticks": (
        "ticks.md",
        lambda: "".join("`" * (i % 900) + "a" for i in range(9_000)),
    ),
}


@trial(SIZE, *LARGE)
def a_large_file(kind: str) -> None:
    """Read or refused within a minute and 2 GB, and the others are read."""
    name, make = LARGE[kind]
    documents()

    def save() -> None:  # apart, so that its memory is not counted
        Path("documents", name).write_bytes(
            content.encode() if isinstance(content := make(), str) else content
        )

    step(save)

    def read() -> list[Any]:
        import kg2rag

        data = kg2rag.load("documents")
        kb = kg2rag.KnowledgeBase.build(
            data.corpus, embedder=lambda texts: [[1.0, len(text)] for text in texts]
        )
        hits = kg2rag.BM25(kb).retrieve(kg2rag.Query("q", "Ada Lovelace"), 3)
        kb.graph  # noqa: B018 (built by looking at it)
        return ["Ada.md" in "".join(data.corpus.doc_ids), len(hits)]

    is_read, _ = step(read)
    if not is_read:
        raise Finding(LOST, "the other files are missing")


@trial(STORE)
def near_duplicates_of_51_equal_passages() -> None:
    """Fifty of them are duplicates of the first."""
    texts = {
        f"d{i}": "Ada wrote a long letter about the engine that Charles Babbage had built of brass."
        for i in range(51)
    }

    def count() -> int:
        import kg2rag

        return len(kg2rag.from_texts(texts).near_duplicates())

    expect(step(count), 50)


@trial(STORE)
def many_small_files_make_few_files_in_the_store() -> None:
    """A store has fewer than one file for ten documents."""
    write(
        {f"documents/f{i}.md": f"# Title {i}\n\nText number {i}." for i in range(1_000)}
    )
    words_of()
    inodes = sum(1 for _ in Path(".store").rglob("*"))
    if inodes > 100:
        raise Finding(HEAVY, f"{inodes} files and folders for 1,000 documents")


@trial(STORE)
def a_film_is_not_read() -> None:
    """A file that is not read is not hashed."""
    documents()
    sparse(Path("documents", "film.mp4"), 6 << 30)
    start = time.process_time()
    child = os.times()
    words_of()
    now = os.times()
    seconds = (
        time.process_time()
        - start
        + now.children_user
        + now.children_system
        - child.children_user
        - child.children_system
    )
    if seconds > 8:
        raise Finding(HEAVY, f"{seconds:.0f} seconds")


@trial(STORE, "node_modules", ".venv", ".git", "__pycache__", "site-packages")
def a_folder_of_programs(name: str) -> None:
    """Folders of package managers are left out."""
    documents()
    write(
        {
            f"{name}/pkg/readme.md"
            if name != "site-packages"
            else "lib/site-packages/pkg/readme.md": "Stranger."
        },
        "documents",
    )
    if "Stranger." in words_of():
        raise Finding(SILENT, "it is in the corpus")


@trial(STORE)
def a_home_sign_in_the_name_of_the_store() -> None:
    """`~` is the home folder."""
    documents()
    succeed("datasets", "info", "documents", KG2RAG_STORE="~/kept")
    if Path("~").exists():
        raise Finding(SILENT, "there is a folder '~'")


@trial(
    "8 keys",
    "a file of the system",
    "a folder outside",
    "a file beside the folder",
    "the environment",
)
def a_link_out_of_the_folder(kind: str) -> None:
    """Files outside a folder are not read through a link."""
    documents()
    write({"outside/secret.md": "The secret of Ada is brass."})
    target = {
        "a folder outside": "outside",
        "a file of the system": "/etc/passwd",
        "the environment": "/proc/self/environ",
    }
    place = Path(target.get(kind, "outside/secret.md")).absolute()
    Path("documents", "link" if kind == "a folder outside" else "link.txt").symlink_to(
        place
    )
    text = words_of()
    stored = b"".join(contents(".store").values())
    for word in ("secret of Ada", "root:x", "sk-SECRET"):
        if word in text or word.encode() in stored:
            raise Finding(KEY, f"{word!r} is in the corpus or the store")
