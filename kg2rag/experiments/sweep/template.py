"""The name of a data set -> a sweep file for BM25, with all other systems as comments."""

from __future__ import annotations

import json

from kg2rag.answers.graph_context import one_line
from kg2rag.retrievers.systems import SYSTEMS

HEAD = """\
# kg2rag sweep FILE --plan    prints the configurations and runs nothing
# kg2rag sweep FILE --run     runs those that are not stored, then reports
# Remove the signs # before a table and its parameters to run it. A list gives several values; all combinations run.
name = {name}
data = {data}                          # a set (`kg2rag datasets list`), or a folder
# The command line names files: --path those of the set, --questions the questions about a folder.
k = 20                                # hits per query
metrics = ["recall@5", "recall@2", "all_recall@5", "mrr@10"]
# objective = "recall@5"              # selects the configuration; the first metric by default
# graphs = ["mentions"]               # graph sources
# encoder = "sentence-transformers/all-MiniLM-L6-v2"

[split]
dev = 0.5                             # share of the questions that select; the others judge
seed = 0

[systems.bm25]
k1 = [0.9, 1.2]
b = [0.4, 0.75]
"""


def template(data: str) -> str:
    """A commented sweep file over a data set.

    >>> print(template("bundled")[:63])
    # kg2rag sweep FILE --plan    prints the configurations and run
    """
    tables = [HEAD.format(name=json.dumps(f"{data} sweep"), data=json.dumps(data))]
    for name in [name for name in SYSTEMS.names() if name != "bm25"]:
        try:
            summary = SYSTEMS.description(name).partition("\n")[0]
            defaults = SYSTEMS.parameters(name)
        # The system belongs to a package that cannot be imported; the others can run.
        except RuntimeError as error:
            tables.append(
                f"# {name} of another package cannot be used: {one_line(str(error))}\n"
            )
            continue
        values = [
            f"# {parameter} = {_toml(value)}\n" for parameter, value in defaults.items()
        ]
        tables.append(f"# {one_line(summary)}\n# [systems.{name}]\n{''.join(values)}")
    return "\n".join(tables)


def _toml(value: object) -> str:
    """A default value as a TOML list of one value; a value that TOML lacks is in a comment."""
    if _is_plain(value):
        return json.dumps([value], ensure_ascii=False)
    if isinstance(value, tuple | list) and all(map(_is_plain, value)):
        return json.dumps([list(value)], ensure_ascii=False)
    return f"[]  # default: {one_line(repr(value))}"


def _is_plain(value: object) -> bool:
    """Whether TOML and JSON have the same text for a value."""
    return isinstance(value, bool | int | float | str)
