"""A system and one query -> how many files of the package the query passes through, and how many calls it takes.

python eval/bench/walk.py [SYSTEM ...]

The query has been asked once before, so that nothing is built or encoded on the way. A file or call counts where it is
Python of this package; compiled kernels and other libraries do not.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType

import kg2rag

PACKAGE = str(Path(kg2rag.__file__).parent)
SHOWN = ("dense", "mention_ppr", "kg2rag", "dynamic_hybrid")


def walked(system: kg2rag.Retriever, query: kg2rag.Query, k: int = 10) -> tuple[int, int]:
    """Files and calls of one `retrieve`."""
    calls: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            calls.append(frame.f_code.co_filename)

    system.retrieve(query, k)
    sys.setprofile(note)
    try:
        system.retrieve(query, k)
    finally:
        sys.setprofile(None)
    return len(set(calls)), len(calls)


def main() -> None:
    """Print one line a system, on the bundled set and its triples."""
    data = kg2rag.load("bundled")
    kb = kg2rag.KnowledgeBase.build(data.corpus, f"triples({data.graph_files['triples']})")
    for name in sys.argv[1:] or SHOWN:
        files, calls = walked(kg2rag.systems.build(name, kb), data.queries[84])
        print(f"{name:20} {files:3} files {calls:6} calls")


if __name__ == "__main__":
    main()
