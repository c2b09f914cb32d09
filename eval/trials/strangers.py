"""Trials of files of others: every command that writes leaves them as they were, byte for byte."""

from __future__ import annotations

import resource
import shutil
import signal
from pathlib import Path

from harness import (
    SILENT,
    TOUCHED,
    Finding,
    command,
    contents,
    documents,
    expect,
    step,
    succeed,
    trial,
    write,
)

OTHERS, DISK = "6 files of others", "7 full disk"
SWEEP = 'name = "s"\ndata = "bundled"\nmetrics = ["recall@5"]\nk = 5\n[systems.bm25]\nk1 = [0.9, 1.2]\n'
COMMANDS = {
    "compare": "compare bundled --systems bm25 --metrics recall@5 --limit 9 --out out",
    "compare without gold": "compare documents --systems bm25 --out out",
    "compare-graphs": "compare-graphs bundled --systems graph_augmented --placebo 0 --limit 9 --out out",
    "build": "build bundled --extractor cooccurrence --out out",
    "build --force": "build bundled --extractor cooccurrence --force --out out",
    "questions": "questions documents --known-item --limit 3 --out out/questions.jsonl",
    "sweep": "sweep s.toml --run --out out",
}
BESIDE = {
    "runs/anserini.trec.gz": b"theirs",
    "runs/notes.txt": b"theirs",
    "thesis.tex": b"theirs",
    "failed.csv": b"theirs",
    "deep/in/it.parquet": b"theirs",
    ".partial-draft": b"theirs",
    ".partial-1-host-abc-draft.tmp": b"theirs",
    "customers.sqlite": b"SQLite format 3\x00theirs",
    "0123456789abcdef0123456789abcdef/file": b"theirs",
    "extraction/notes.jsonl": b"{}",
}
NAMES = (
    "config.json scores.csv per_query.parquet report.html curve.csv sizes.csv token_curve.csv qrels.trec "
    "runs/bm25.trec.gz runs/dense.trec.gz build.json entities.parquet triples.parquet mentions.parquet "
    "extraction/triples.jsonl failed.jsonl questions.jsonl questions.html results.parquet sweep.json report.md "
    "sets.json macro.csv .kg2rag.json"
).split()
THEIRS = b'{"theirs": "and there is no copy"}\n'


def prepare() -> None:
    """Write the files that the commands read."""
    documents()
    write({"s.toml": SWEEP})


def unchanged(before: dict[str, bytes], folder: str) -> None:
    """Every file is as before."""
    now = contents(folder)
    for name, content in before.items():
        if now.get(name) != content:
            raise Finding(
                TOUCHED, f"{name} was {'deleted' if name not in now else 'overwritten'}"
            )


@trial(OTHERS, *COMMANDS)
def files_beside(name: str) -> None:
    """Files with other names than those that a command writes, in its folder, twice."""
    prepare()
    write(BESIDE, "out")
    for _ in range(2):
        command(*COMMANDS[name].split())
        unchanged(BESIDE, "out")


@trial(OTHERS, *COMMANDS)
def files_with_our_names(name: str) -> None:
    """Each single file that has the name of a file that kg2rag writes."""
    prepare()
    for file in NAMES:
        shutil.rmtree("out", ignore_errors=True)
        write({file: THEIRS}, "out")
        command(*COMMANDS[name].split())
        unchanged({file: THEIRS}, "out")


@trial(OTHERS, *COMMANDS)
def all_of_them_at_once(name: str) -> None:
    """A folder with files of all these names."""
    prepare()
    theirs = {**BESIDE, **dict.fromkeys(NAMES, THEIRS)}
    write(theirs, "out")
    done = command(*COMMANDS[name].split())
    unchanged(theirs, "out")
    if done.code == 0:
        raise Finding(SILENT, "it succeeded and wrote nothing")


@trial(OTHERS, *COMMANDS)
def a_result_that_was_edited(name: str) -> None:
    """A result that somebody has edited."""
    prepare()
    succeed(*COMMANDS[name].split(), kind=SILENT)
    for file in contents("out"):
        if file.endswith((".csv", ".jsonl", ".md", ".html")):
            edited = Path("out", file).read_bytes() + b"# mine\n"
            Path("out", file).write_bytes(edited)
            command(*COMMANDS[name].replace("0.9", "0.8").split())
            unchanged({file: edited}, "out")


@trial(OTHERS, *COMMANDS)
def links_to_files_elsewhere(name: str) -> None:
    """Links with these names to other files."""
    prepare()
    for file in NAMES:
        shutil.rmtree("out", ignore_errors=True)
        write({"elsewhere/theirs": THEIRS})
        Path("out", file).parent.mkdir(parents=True, exist_ok=True)
        Path("out", file).symlink_to(Path("elsewhere", "theirs").absolute())
        command(*COMMANDS[name].split())
        unchanged({"theirs": THEIRS}, "elsewhere")


@trial(OTHERS, "runs", "extraction")
def a_link_in_place_of_a_folder(folder: str) -> None:
    """A link to another folder with the name of a folder of a result."""
    prepare()
    theirs = dict.fromkeys(
        ("bm25.trec.gz", "triples.jsonl", "mentions.jsonl", "old.trec.gz"), THEIRS
    )
    write(theirs, "elsewhere")
    Path("out").mkdir()
    Path("out", folder).symlink_to(Path("elsewhere").absolute())
    for words in COMMANDS.values():
        command(*words.split())
    unchanged(theirs, "elsewhere")


@trial(OTHERS)
def the_page_and_the_questions_have_one_name() -> None:
    """`--out q.html` must not write the page over the questions."""
    prepare()
    done = command(
        *"questions documents --known-item --limit 3 --out out/q.html".split()
    )
    if done.code == 0 and not any(
        b'"question"' in data and b"<html" not in data
        for data in contents("out").values()
    ):
        raise Finding(TOUCHED, "the questions were written over")


@trial(OTHERS, "in the store", "in a folder of it", "above it")
def prune(where: str) -> None:
    """`kg2rag store prune` in a folder that somebody has called the store."""
    prepare()
    theirs = {
        "places.sqlite": b"SQLite format 3\x00theirs",
        "customers.sqlite": THEIRS,
        "answers.sqlite": THEIRS,
        "profile/places.sqlite": THEIRS,
        "vectors/mine.sqlite": THEIRS,
        "photos/0123456789abcdef0123456789abcdef/photo.jpg": THEIRS,
        "0123456789abcdef0123456789abcdef/photo.jpg": THEIRS,
        "documents/0123456789abcdef0123456789abcdef/manifest.json": THEIRS,
        "photos/.partial-1-host-abc-draft.tmp": THEIRS,
        "manifest.json": THEIRS,
    }
    folder = {
        "in the store": "store",
        "in a folder of it": "store/sub",
        "above it": "above",
    }[where]
    write(theirs, folder)
    store = "above/store" if where == "above it" else "store"
    succeed("datasets", "info", "documents", KG2RAG_STORE=store)
    command(
        "store",
        "prune",
        "--older-than-days",
        "0",
        KG2RAG_STORE="above" if where == "above it" else "store",
    )
    unchanged(theirs, folder)


@trial(OTHERS)
def prune_still_prunes() -> None:
    """Entries of ours are deleted."""
    prepare()
    succeed(*COMMANDS["compare"].split())
    before = sum(map(len, contents(".store").values()))
    succeed("store", "prune", "--older-than-days", "0")
    after = sum(map(len, contents(".store").values()))
    if after > before / 2:
        raise Finding(SILENT, f"{after:,} of {before:,} bytes are left")


def save(folder: str, words: str, bytes_: int | None = None) -> str:
    """Save a comparison in Python; the error message, or ""."""
    import kg2rag

    data = kg2rag.from_frames(
        [{"id": str(i), "text": f"Ada wrote {i} {words}"} for i in range(40)],
        [
            {"id": f"q{i}", "question": f"wrote {i}", "gold": [str(i)]}
            for i in range(40)
        ],
    )
    kb = kg2rag.KnowledgeBase.build(
        data.corpus, embedder=lambda texts: [[1.0, len(text)] for text in texts]
    )
    result = kg2rag.compare(
        {"bm25": kg2rag.BM25(kb)}, data, metrics=["recall@1"], baseline="bm25"
    )
    if bytes_ is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_, resource.RLIM_INFINITY))
    try:
        result.save(folder)
    except OSError as error:
        return f"{error.errno} {error}"
    finally:
        resource.setrlimit(
            resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        )
    return ""


@trial(DISK, 100, 1_000, 4_000, 20_000, 100_000)
def a_disk_that_is_full_after_so_many_bytes(limit: int) -> None:
    """The older comparison stays whole, and the error names a file."""
    step(lambda: save("out", "first"))
    before = contents("out")
    error = step(lambda: save("out", "second", limit))
    if not error:
        return
    expect(
        {name: data for name, data in contents("out").items() if "partial" not in name},
        before,
        TOUCHED,
        "the older one",
    )
    if "out" not in error:
        raise Finding(SILENT, f"no file is named: {error}")
    if any("partial" in name for name in contents("out")) or any(
        ".partial" in path.name for path in Path().iterdir()
    ):
        raise Finding(TOUCHED, "leftovers")
