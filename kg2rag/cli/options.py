"""What commands share: options, each declared once (a data set, systems and what they run on), and tables.

A group of options is a frozen dataclass; a command takes one as a parameter, and `spread` turns the group's fields into
options of the command, so that `--help` lists each.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

from kg2rag.extraction.sources import SOURCES
from kg2rag.text.registry import read_value, split

if TYPE_CHECKING:
    from rich.table import Table

    from kg2rag.compute import Embedder
    from kg2rag.knowledge import KnowledgeBase
    from kg2rag.retrievers.contract import Retriever
    from kg2rag.types import Corpus, QADataset

GRAPHS = f"{', '.join(SOURCES.usages())}; joined by + for their union."
EMBEDDERS = (
    "A sentence-transformers model, bge-small, e5-base, gte-large and their like, or static:MODEL of model2vec (much "
    "faster); MiniLM otherwise."
)
PROMPT = "What stands before each {}; what the model's files or its card say otherwise."
NAMES = "names separated by commas; a=dense,b=dense are variants, set by --set b.PARAMETER."
Settings = Annotated[list[str] | None, typer.Option("--set", help="system.parameter=value; may be repeated.")]
Graph = Annotated[str, typer.Option(help=GRAPHS)]
Limit = Annotated[int | None, typer.Option(min=1, help="Draw so many questions; the corpus stays whole.")]
Seed = Annotated[int, typer.Option(help="Of the draw, the bootstrap and the randomisation test.")]
Backend = Annotated[str, typer.Option(help="loky (processes on this machine) or dask.")]
Cluster = Annotated[str | None, typer.Option(help="Address of a running Dask; a local one otherwise.")]


@dataclass(frozen=True)
class DataOptions:
    """The options that name a question set."""

    dataset: Annotated[
        str,
        typer.Argument(
            help="Name of the set, which `kg2rag datasets list` names, or a folder of documents.",
            autocompletion=known_sets,
        ),
    ]
    path: Annotated[Path | None, typer.Option(help="File or folder of the set; the hub's copy otherwise.")] = None
    questions: Annotated[Path | None, typer.Option(help="A .jsonl or .csv of questions about your documents.")] = None
    split: Annotated[str | None, typer.Option(help="Split of the set; its default otherwise.")] = None
    setting: Annotated[
        Literal["pooled", "distractor"] | None, typer.Option(help="Search all passages, or each its own.")
    ] = None
    passages: Annotated[Literal["paragraph", "sentence"] | None, typer.Option(help="What a passage is.")] = None
    revision: Annotated[str | None, typer.Option(help="Revision of the hub's copy.")] = None

    def load(self, limit: int | None = None, seed: int = 0) -> QADataset:
        """Load the set, or a draw of its questions."""
        from kg2rag.datasets import Documents, load

        options = {name: value for name, value in vars(self).items() if name != "dataset"}
        data = load(self.dataset, **options, limit=limit, seed=seed)
        if isinstance(data, Documents):
            typer.echo(repr(data), err=True)
        return data

    def several(self, further: Sequence[str]) -> dict[str, DataOptions]:
        """Name -> the options of this set and of further ones, of which `path` holds a folder by name each."""
        names = [self.dataset, *further]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"The set {twice!r} is named twice.")
        sets = [replace(self, dataset=name, path=self.path and self.path / name) for name in names]
        return {one.file_name: one for one in sets}

    @property
    def file_name(self) -> str:
        """The name of the set as it names files: `irds:beir/scifact/test` has signs that no file name should have."""
        from kg2rag.datasets import file_name

        place = Path(self.dataset).expanduser()
        return file_name(place.resolve().stem if self.path is None and place.exists() else self.dataset)


@dataclass(frozen=True)
class WorkerOptions:
    """The options that say by whom independent pieces of work are done; they change no result."""

    jobs: Annotated[int | None, typer.Option(min=0, help="Processes; 0: as many as processors. One otherwise.")] = None
    backend: Backend = "loky"
    cluster: Cluster = None

    def open(self) -> AbstractContextManager[int]:
        """`kg2rag.compute.workers`: this process alone where nothing is asked for."""
        from kg2rag.compute import workers

        alone = self.backend == "loky" and self.cluster is None
        return workers((1 if alone else 0) if self.jobs is None else self.jobs, self.backend, self.cluster)


@dataclass(frozen=True)
class EncoderOptions:
    """The options of the encoder."""

    embedder: Annotated[str | None, typer.Option(help=EMBEDDERS)] = None
    dtype: Annotated[
        str, typer.Option(help="auto, bfloat16 or float32; on a GPU also float16.", envvar="KG2RAG_DTYPE")
    ] = "auto"
    device: Annotated[str, typer.Option(help="cpu, cuda (every GPU), auto, or such as cuda:0,cuda:1.")] = "cpu"
    query_prompt: Annotated[str | None, typer.Option(help=PROMPT.format("query"))] = None
    passage_prompt: Annotated[str | None, typer.Option(help=PROMPT.format("passage"))] = None

    def encoder(self) -> Embedder:
        """The encoder; ValueError for a name, format or device that there is not."""
        from kg2rag.compute import DEFAULT_MODEL, embedder_named

        prompts = {"query_prompt": self.query_prompt, "passage_prompt": self.passage_prompt}
        return embedder_named(self.embedder or DEFAULT_MODEL, dtype=self.dtype, device=self.device, **prompts)


@dataclass(frozen=True)
class SystemOptions(EncoderOptions):
    """The options that name systems and what they run on."""

    graph: Graph = "mentions"
    systems: Annotated[
        str,
        typer.Option(
            help=f"core (the seven of a first comparison), all, my.module:Class, or {NAMES}",
            autocompletion=last_of(known_systems),
        ),
    ] = "core"
    settings: Settings = None

    def build(self, corpus: Corpus) -> tuple[KnowledgeBase, dict[str, Retriever]]:
        """The knowledge base over a corpus, and the systems by name."""
        from kg2rag.knowledge import KnowledgeBase
        from kg2rag.retrievers.systems import CORE, build_all

        kb = KnowledgeBase.build(corpus, self.graph, embedder=self.encoder())
        named = {"core": CORE, "all": None}
        wanted = named[self.systems] if self.systems in named else split_names(self.systems)
        return kb, build_all(kb, wanted, parse_settings(self.settings or []), modules=True)


def spread(**defaults: object) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make each field of a command's dataclass parameters an option; `defaults` replace those of the fields."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(command, include_extras=True)
        groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
        options: list[inspect.Parameter] = []
        for name, parameter in inspect.signature(command).parameters.items():
            source = groups.get(name)
            own = inspect.signature(source).parameters.values() if source else [parameter]
            types = get_type_hints(source, include_extras=True) if source else hints
            options += [
                one.replace(
                    kind=one.KEYWORD_ONLY, annotation=types[one.name], default=defaults.get(one.name, one.default)
                )
                for one in own
            ]

        @wraps(command)
        def run(**given: Any) -> None:
            for name, group in groups.items():
                given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
            command(**given)

        run.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
        run.__annotations__ = {option.name: option.annotation for option in options}
        return run

    return decorate


def announce(folder: Path, *, replaced: str) -> None:
    """Say on stderr that an earlier result in the folder is going to be replaced, where there is one."""
    if replaced:
        typer.echo(f"{folder} holds {replaced}; this one replaces it. --out names another folder.", err=True)


def split_names(text: str) -> list[str]:
    """Names separated by commas, those in brackets apart."""
    return [name for name in split(text, ",") if name]


def parse_settings(given: Sequence[str]) -> dict[str, dict[str, object]]:
    """["bm25.k1=1.2"] -> {"bm25": {"k1": 1.2}}; values are JSON where they can be read as such, text otherwise."""
    settings: dict[str, dict[str, object]] = {}
    for setting in given:
        target, equals, value = setting.partition("=")
        system, dot, parameter = target.partition(".")
        if not (equals and dot and system and parameter):
            raise ValueError(f"--set {setting!r}: write system.parameter=value, such as bm25.k1=1.2.")
        settings.setdefault(system, {})[parameter] = read_value(value)
    return settings


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """A table whose first column is never cut: it holds the names one types."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for i, column in enumerate(columns):
        made.add_column(column, no_wrap=i == 0, overflow="fold")
    for row in rows:
        made.add_row(*row)
    return made


def show(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table."""
    from kg2rag.text.cells import console as console_of

    console_of().print(table(columns, rows))


def readable(value: object) -> str:
    """A value as one reads it: counts by name, lists without brackets, nothing for None."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {count}" for name, count in value.items())
    return "" if value is None else commas(value)


def commas(values: object) -> str:
    """The members of a list, separated by commas; anything else as text."""
    return ", ".join(map(str, values)) if isinstance(values, tuple | list) else str(values)


def known_sets(incomplete: str) -> list[str]:
    """The question sets that begin so."""
    from kg2rag.datasets import beir, names

    return _beginning(incomplete, (*names(), *(beir.names() if incomplete.startswith(beir.PREFIX) else ())))


def known_systems(incomplete: str) -> list[str]:
    """The systems that begin so, and the two names for several of them."""
    from kg2rag.retrievers.systems import names

    return _beginning(incomplete, ("all", "core", *names()))


def known_metrics(incomplete: str) -> list[str]:
    """The usual metrics that begin so."""
    from kg2rag.evaluation.metric_names import DEFAULT_METRICS

    return _beginning(incomplete, DEFAULT_METRICS)


def last_of(complete: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """The same for the last of several names with commas between, without those that are there already."""

    def completed(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        given = before.split(",")
        return [before + comma + name for name in complete(last) if name not in given]

    return completed


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
