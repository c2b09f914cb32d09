"""The graph of Python code, tried: on this package with questions of our own, and on the functions of CoSQA.

    python eval/code_graph.py --data DATA [--set code|cosqa-500]

Writes `eval/results/code_graph.csv`: recall of systems over the code graph, over mentions, and over the code graph
shuffled. A passage of the package is a function, a method, or what a class or module has besides; its title is the
dotted name of what it is part of. The questions, in `eval/code_questions.toml`, name their gold by the definitions that
call, use or inherit; `gold_of` refuses one that the package lacks. CoSQA asks what a function does, not what calls it:
the graph is not expected to help there.
"""

from __future__ import annotations

import argparse
import ast
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

import kg2rag
from kg2rag import KnowledgeBase, QADataset, Question
from kg2rag.compute import DEFAULT_MODEL, embedder_named
from kg2rag.evaluation import compare
from kg2rag.types import Corpus, Passage

ROOT = Path(__file__).resolve().parent.parent
SYSTEMS = ("bm25", "dense", "hybrid", "graph_augmented", "expansion_queries", "confidence_gated", "practical")
METRICS = ("recall@5", "recall@10", "all_recall@10")
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def passages(root: Path) -> Iterator[Passage]:
    """The definitions of a package's modules, and what is left of each class and module."""
    seen: Counter[str] = Counter()  # overloads, and a function of the name of a module
    for file in sorted(root.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        parts = [*file.relative_to(root.parent).with_suffix("").parts]
        module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found = list(_parts(ast.parse(text), text.splitlines(), module, module))
        for position, (name, title, code) in enumerate(found):
            if code.strip():
                seen[name] += 1
                yield Passage(name if seen[name] == 1 else f"{name}#{seen[name]}", title, code, module, position)


def _parts(node: ast.AST, lines: list[str], owner: str, name: str) -> Iterator[tuple[str, str, str]]:
    """Name, title and code of a module or class without its definitions, then of these."""
    body: list[ast.stmt] = getattr(node, "body", [])
    inner = [one for one in body if isinstance(one, SCOPES)]
    first = 1 if isinstance(node, ast.Module) else _first(node)
    last = len(lines) if isinstance(node, ast.Module) else int(getattr(node, "end_lineno", first))
    taken = {line for one in inner for line in range(_first(one), (one.end_lineno or one.lineno) + 1)}
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        inner, taken = [], set()  # what a function defines stays with it
    yield name, owner, "\n".join(lines[at - 1] for at in range(first, last + 1) if at not in taken)
    for one in inner:
        yield from _parts(one, lines, name, f"{name}.{one.name}")


def _first(node: ast.AST) -> int:
    """The line of a definition, or of the first of its decorators."""
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(one.lineno for one in decorators)])  # type: ignore[attr-defined]


def own_set() -> QADataset:
    """The package and the questions about it."""
    corpus = Corpus.from_passages(passages(ROOT / "kg2rag"))
    rows = tomllib.loads((ROOT / "eval" / "code_questions.toml").read_text(encoding="utf-8"))["question"]
    questions = [
        Question(f"c{at:02}", row["text"], gold_of(row, corpus), type=row["kind"])
        for at, row in enumerate(rows, start=1)
    ]
    return QADataset("code", corpus, tuple(questions))


def gold_of(row: dict[str, object], corpus: Corpus) -> dict[str, int]:
    """The gold passages of a question; ValueError for one that the package does not have any more."""
    known, gold = frozenset(corpus.ids), row["gold"]
    assert isinstance(gold, list)
    if gone := [name for name in gold if name not in known]:
        raise ValueError(f"{row['text']!r}: the package has no {gone[0]!r}. Was it renamed?")
    return dict.fromkeys(gold, 1)


def tried(data: QADataset, graphs: dict[str, object], dtype: str) -> pd.DataFrame:
    """One row a graph and system."""
    frames = []
    encoder = embedder_named(DEFAULT_MODEL, dtype=dtype)
    for name, graph in graphs.items():
        kb = KnowledgeBase.build(data.corpus, graph, embedder=encoder)  # type: ignore[arg-type]
        systems = {each: kg2rag.systems.build(each, kb) for each in SYSTEMS}
        result = compare(systems, data, metrics=list(METRICS), baseline="dense")
        scores = result.scores.pivot_table(index="system", columns="metric", values="mean")[list(METRICS)]
        frames.append(scores.reset_index().assign(set=data.name, graph=name, triples=kb.graph.n_triples))
    return pd.concat(frames, ignore_index=True)


def main() -> None:
    """Run what is asked for and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the public sets")
    parser.add_argument("--set", choices=("code", "cosqa-500"), action="append", help="both otherwise")
    parser.add_argument("--dtype", default="float32")
    given = parser.parse_args()
    frames = []
    for name in given.set or ("code", "cosqa-500"):
        data = own_set() if name == "code" else kg2rag.load("cosqa", path=given.data / name)
        kb = KnowledgeBase.build(data.corpus, "code")
        frames.append(
            tried(
                data,
                {"code": "code", "code shuffled": kb.graph.perturb(shuffle=True), "mentions": "mentions"},
                given.dtype,
            )
        )
    table = pd.concat(frames, ignore_index=True)
    columns = ["set", "graph", "triples", "system", *METRICS]
    out = ROOT / "eval" / "results" / "code_graph.csv"
    table[columns].to_csv(out, index=False, float_format="%.4f")
    print(table[columns].round(3).to_string(index=False))


if __name__ == "__main__":
    main()
