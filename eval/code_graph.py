"""The graph of Python code, tried: on this package with questions of our own, and on the functions of CoSQA.

    python eval/code_graph.py --data DATA [--commit COMMIT] [--set code|cosqa-500]

Writes `eval/results/code_graph.csv`, and beside it `code_graph.json` with what it depended on: recall of systems over
the code graph, over mentions, and over the code graph shuffled, of all questions and of each kind. The package is read
at a commit, so that the table can be made again when the package has gone on. A passage of it is a function, a method,
or what a class or module has besides; its title is the dotted name of what it is part of. The questions, in
`eval/code_questions.toml`, name their gold by the definitions that call, use or inherit; `gold_of` refuses one that the
package lacks. CoSQA asks what a function does, not what calls it: the graph is not expected to help there.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import io
import json
import subprocess
import tarfile
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd

import kg2rag
from kg2rag import KnowledgeBase, QADataset, Question
from kg2rag.compute import DEFAULT_MODEL, embedder_named
from kg2rag.evaluation import evaluate
from kg2rag.types import Corpus, Passage

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "eval" / "results" / "code_graph.csv"
SETS = ("code", "cosqa-500")
# Those that start at entities which the question names; what searches triples by their vectors is not tried.
SYSTEMS: dict[str, tuple[str, dict[str, object]]] = {
    "bm25": ("bm25", {}),
    "dense": ("dense", {}),
    "hybrid": ("hybrid", {}),
    "graph_augmented": ("graph_augmented", {}),
    "graph_augmented_2_hops": ("graph_augmented", {"hops": 2}),
    "expansion_queries": ("expansion_queries", {}),
    "confidence_gated": ("confidence_gated", {"linker": "ngram"}),  # its own takes capitalised and quoted phrases alone
    "vector_first": ("vector_first", {}),
    "dynamic_hybrid": ("dynamic_hybrid", {"sides": "dense,bm25,pattern,graph_augmented"}),
}
NO_GRAPH = ("bm25", "dense", "hybrid")
METRICS = ("recall@5", "recall@10", "all_recall@10")
COLUMNS = ["set", "graph", "system", "kind", "questions", *METRICS]
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


def own_set(commit: str) -> QADataset:
    """The package as it was at a commit, and the questions about it."""
    with tempfile.TemporaryDirectory() as folder:
        packed = subprocess.run(["git", "archive", commit, "kg2rag"], cwd=ROOT, capture_output=True, check=True)
        with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
            archive.extractall(folder, filter="data")
        corpus = Corpus.from_passages(passages(Path(folder) / "kg2rag"))
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


def tried(data: QADataset, graphs: Mapping[str, object], encoder: str, dtype: str) -> pd.DataFrame:
    """One row a graph, system and kind of question; what reads no graph has one row a kind, without a graph."""
    embedder, rows = embedder_named(encoder, dtype=dtype), list[dict[str, object]]()
    for number, (name, graph) in enumerate(graphs.items()):
        kb = KnowledgeBase.build(data.corpus, graph, embedder=embedder)  # type: ignore[arg-type]
        for label, (system, given) in SYSTEMS.items():
            if number and label in NO_GRAPH:
                continue
            rankings = kg2rag.systems.build(system, kb, **given).retrieve_batch(data.queries, 10)
            scores = evaluate(rankings, data, METRICS).assign(kind=[one.type for one in data.questions])
            kinds = scores.groupby("kind", sort=False) if len(set(scores["kind"])) > 1 else ()
            for kind, part in [("all", scores), *kinds]:
                about = {"graph": "" if label in NO_GRAPH else name, "system": label, "kind": kind}
                rows.append({**about, "questions": len(part), **part[list(METRICS)].mean()})
    return pd.DataFrame(rows)


def main() -> None:
    """Run what is asked for and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the public sets")
    parser.add_argument("--set", choices=SETS, action="append", help="both otherwise")
    parser.add_argument("--commit", default="HEAD", help="of this repository, whose package is asked about")
    parser.add_argument("--encoder", default=DEFAULT_MODEL)
    parser.add_argument("--dtype", default="float32")
    given = parser.parse_args()
    commit = subprocess.run(["git", "rev-parse", given.commit], cwd=ROOT, capture_output=True, text=True, check=True)
    tables, config = _kept()
    for name in given.set or SETS:
        data = own_set(commit.stdout.strip()) if name == "code" else kg2rag.load("cosqa", path=given.data / name)
        kb = KnowledgeBase.build(data.corpus, "code")
        graphs = {"code": "code", "shuffled": kb.graph.perturb(shuffle=True), "mentions": "mentions"}
        found = tried(data, graphs, given.encoder, given.dtype).assign(set=name)[COLUMNS]
        tables = [*(one for one in tables if one["set"].iloc[0] != name), found]
        config[name] = {
            "commit": commit.stdout.strip(),
            "dtype": given.dtype,
            "encoder": given.encoder,
            "systems": {label: f"{system} {settings or ''}".strip() for label, (system, settings) in SYSTEMS.items()},
            "passages": len(data.corpus),
            "questions": len(data),
            "corpus": data.corpus.fingerprint,
            "questions sha256": hashlib.sha256(repr(data.questions).encode()).hexdigest(),
            "entities": kb.graph.n_entities,
            "triples": kb.graph.n_triples,
            "notes": dict(kb.graph.notes),
        }
    table = pd.concat(tables, ignore_index=True)
    table.to_csv(TABLE, index=False, float_format="%.4f")
    TABLE.with_suffix(".json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    print(table[table["kind"] == "all"].round(3).to_string(index=False))


def _kept() -> tuple[list[pd.DataFrame], dict[str, object]]:
    """What is written already, a table a set."""
    if not TABLE.is_file():
        return [], {}
    tables = [part for _, part in pd.read_csv(TABLE).groupby("set", sort=False)]
    return tables, json.loads(TABLE.with_suffix(".json").read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
