"""Groups of options that several commands have: data, workers, encoder, systems, language model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from kg2rag.cli.option_groups import arg, opt, parse_settings, split_names
from kg2rag.cli.printing import print_line
from kg2rag.extraction.sources import SOURCES

if TYPE_CHECKING:
    from kg2rag.compute import Embedder
    from kg2rag.knowledge import KnowledgeBase
    from kg2rag.llm import ChatModel, Reader
    from kg2rag.retrievers.contract import Retriever
    from kg2rag.types import Corpus, QADataset

GRAPHS = f"{', '.join(SOURCES.usages())}; joined by + for their union."
EMBEDDERS = (
    "A sentence-transformers model; a short name such as bge-small, e5-base or gte-large; or static:MODEL of "
    "model2vec, which is much faster. Default: all-MiniLM-L6-v2."
)
NAMES = "names separated by commas. a=dense,b=dense are variants of one system, changed by --set b.PARAMETER=VALUE."
DATASET = "Name of a set (see `kg2rag datasets list`), or a folder of documents."
PROMPT = "Prefix of each {}. Default: the prefix in the model's files or on its card."


@dataclass(frozen=True)
class DataOptions:
    """The options that name a question set."""

    dataset: str = arg(..., DATASET)
    path: Path | None = opt(
        None, "File or folder of the set. Default: the copy on the hub."
    )
    questions: Path | None = opt(
        None, "A .jsonl or .csv of questions about your documents."
    )
    split: str | None = opt(
        None, "Split of the set, such as validation; every set has a default."
    )
    setting: Literal["pooled", "distractor"] | None = opt(
        None, "Search all passages, or only those of each question."
    )
    passages: Literal["paragraph", "sentence"] | None = opt(None, "Unit of a passage.")
    revision: str | None = opt(None, "Revision of the hub's copy.")

    def load(self) -> QADataset:
        """The set; notes on its reading are printed on stderr."""
        from kg2rag.datasets import Documents, load

        options = {
            name: value for name, value in vars(self).items() if name != "dataset"
        }
        data = load(self.dataset, **options)
        if isinstance(data, Documents):
            print_line(repr(data), err=True)
        else:
            print_reading(data)
        return data

    @property
    def file_name(self) -> str:
        """The name of the set, or of its folder, without characters that do not suit file names."""
        from kg2rag.datasets import file_name

        path = Path(self.dataset).expanduser()
        if self.path is None and path.exists():
            return file_name(path.resolve().stem)
        return file_name(self.dataset)


def print_reading(data: QADataset) -> None:
    """Print on stderr the notes on skipped files and questions of a folder of documents."""
    if data.source.get("loader") != "from_folder":
        return
    notes: Any = data.source.get("notes", {})
    for reason, count in notes.items():
        print_line(f"{data.name}: {count:,} × {reason}", err=True)


@dataclass(frozen=True)
class DrawOptions(DataOptions):
    """The options that name a question set, and draw some of its questions."""

    limit: int | None = opt(
        None, "Number of questions to draw; the corpus stays whole.", min=1
    )
    seed: int = opt(0, "Seed of the draw, the bootstrap and the randomisation test.")

    def options_of_sets(self, further: Sequence[str]) -> dict[str, DrawOptions]:
        """File name of this and each further set -> its options.

        `path` is a folder with a subfolder for each set. ValueError: a set is repeated.
        """
        names = [self.dataset, *further]
        sets = dict[str, DrawOptions]()
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"The set {name!r} is named twice.")
            path = None if self.path is None else self.path / name
            options = replace(self, dataset=name, path=path)
            sets[options.file_name] = options
        return sets


@dataclass(frozen=True)
class WorkerOptions:
    """The options of the processes that work in parallel; they change no result."""

    jobs: int | None = opt(
        None, "Number of processes; 0 = all cores. Default: 1.", min=0
    )
    backend: str = opt("loky", "loky (processes on this machine) or dask.")
    cluster: str | None = opt(
        None, "Address of a running Dask cluster. Default: a local one."
    )

    @property
    def processes(self) -> int:
        """The number of processes, 0 for all; by default 1, or all workers of a Dask cluster."""
        if self.jobs is not None:
            return self.jobs
        return 1 if self.backend == "loky" and self.cluster is None else 0

    def open(self) -> AbstractContextManager[int]:
        """The context of `kg2rag.compute.workers` with these options."""
        from kg2rag.compute import workers

        return workers(self.processes, self.backend, self.cluster)


@dataclass(frozen=True)
class EncoderOptions:
    """The options of the encoder."""

    embedder: str | None = opt(None, EMBEDDERS)
    dtype: str = opt(
        "auto",
        "auto, bfloat16 or float32; on a GPU also float16.",
        envvar="KG2RAG_DTYPE",
    )
    device: str = opt("cpu", "cpu, cuda (the first GPU), cuda:1 (the second), or auto.")
    query_prompt: str | None = opt(None, PROMPT.format("query"))
    passage_prompt: str | None = opt(None, PROMPT.format("passage"))

    def encoder(self) -> Embedder:
        """The encoder; ValueError: an unknown name, format or device."""
        from kg2rag.compute import DEFAULT_MODEL, embedder_named

        return embedder_named(
            self.embedder or DEFAULT_MODEL,
            dtype=self.dtype,
            device=self.device,
            query_prompt=self.query_prompt,
            passage_prompt=self.passage_prompt,
        )


@dataclass(frozen=True)
class SystemOptions(EncoderOptions):
    """The options that name systems, a graph and an encoder."""

    graph: str = opt("mentions", GRAPHS)
    systems: str = opt(
        "core",
        f"core (seven systems for a first comparison), all, my.module:Class, or {NAMES}",
    )
    settings: list[str] | None = opt(
        None, "system.parameter=value; may be repeated.", "--set"
    )

    def build(self, corpus: Corpus) -> tuple[KnowledgeBase, dict[str, Retriever]]:
        """The knowledge base over a corpus, and the systems by name."""
        from kg2rag.knowledge import KnowledgeBase
        from kg2rag.retrievers.systems import CORE, build_all

        kb = KnowledgeBase.build(corpus, self.graph, embedder=self.encoder())
        names: Sequence[str] | None
        if self.systems == "core":
            names = CORE
        elif self.systems == "all":
            names = None
        else:
            names = split_names(self.systems)
        return kb, build_all(
            kb, names, parse_settings(self.settings or []), modules=True
        )


LLM = {"rich_help_panel": "Language model"}


@dataclass(frozen=True)
class RequestOptions:
    """The options of the requests to a language model."""

    api_key_env: str | None = opt(
        None,
        "Variable with the key of the endpoint; OPENAI_API_KEY for OpenAI's address and OPENAI_BASE_URL.",
        **LLM,
    )
    structured: Literal["json_schema", "json_object", "prompt"] = opt(
        "json_schema", "How JSON is requested.", **LLM
    )
    temperature: float = opt(0.0, "Sampling temperature.", min=0, **LLM)
    max_tokens: int = opt(2048, "Maximum length of an answer, in tokens.", min=1, **LLM)
    concurrency: int | None = opt(
        None,
        "Simultaneous requests. Default: 8; 2 for an endpoint on this machine.",
        min=1,
        **LLM,
    )
    timeout: float = opt(60.0, "Seconds without a byte until a request fails.", **LLM)
    body: str = opt(
        "{}", "JSON object of further request fields; null leaves one out.", **LLM
    )
    max_calls: int | None = opt(
        None, "Maximum number of requests, retries included.", min=1, **LLM
    )
    max_cost: float | None = opt(None, "Maximum cost; needs both prices.", **LLM)
    prompt_price: float | None = opt(None, "Price of a million prompt tokens.", **LLM)
    completion_price: float | None = opt(
        None, "Price of a million answer tokens.", **LLM
    )

    def chat_model(self, base_url: str, model: str) -> ChatModel:
        """The model of that name at an endpoint."""
        from kg2rag.llm import ChatModel, Spending

        options = {
            field.name: getattr(self, field.name) for field in fields(RequestOptions)
        }
        options["extra"] = _body_fields(options.pop("body"))
        if self.api_key_env in ("none", ""):
            options["api_key_env"] = None
        max_calls = options.pop("max_calls")
        max_cost = options.pop("max_cost")
        if max_calls is not None or max_cost is not None:
            options["spending"] = Spending(max_calls, max_cost)
        return ChatModel(base_url, model, **options)


@dataclass(frozen=True)
class ModelOptions(RequestOptions):
    """The options of a language model."""

    base_url: str | None = opt(None, "OpenAI-compatible endpoint, with its /v1.", **LLM)
    model: str | None = opt(None, "Name of the model at the endpoint.", **LLM)

    def open(self, purpose: str) -> ChatModel:
        """The model; ValueError: endpoint or model are missing, which the `purpose` needs."""
        if self.base_url is None or self.model is None:
            raise ValueError(
                f"{purpose} asks a language model: give --base-url and --model."
            )
        return self.chat_model(self.base_url, self.model)


@dataclass(frozen=True)
class ReaderOptions(RequestOptions):
    """The options of a language model that answers the questions."""

    reader: str | None = opt(
        None,
        "MODEL@BASE_URL: let this model answer from each system's first passages.",
        **LLM,
    )
    reader_tokens: int = opt(
        1000,
        "Maximum length of the passages, by the encoder's tokenizer.",
        min=1,
        **LLM,
    )
    reasoned: bool = opt(
        False, "Let the model reason before it answers.", "--reasoned", **LLM
    )
    answer_rules: Literal["squad", "hotpotqa", "musique"] = opt(
        "squad", "Data set whose rules score the answers.", **LLM
    )
    yes: bool = opt(False, "Send the requests without asking.", "--yes", **LLM)

    def open(self) -> Reader | None:
        """The reader; None without --reader."""
        from kg2rag.compute.endpoint import endpoint_of
        from kg2rag.llm.reader import REASONED, SHORT, Reader

        if self.reader is None:
            return None
        model, base_url = endpoint_of(self.reader, "--reader MODEL@BASE_URL")
        return Reader(
            self.chat_model(base_url, model), REASONED if self.reasoned else SHORT
        )

    def confirm(self, plan: str) -> bool:
        """Print the plan of the requests, and ask whether to send them."""
        print_line(f"Reader: {plan}.", err=True)
        return self.yes or typer.confirm("Send the requests?", err=True)


def _body_fields(text: str) -> dict[str, Any]:
    """The fields of --body; ValueError: the text is no JSON object."""
    try:
        fields = json.loads(text)
    except ValueError:
        fields = None
    if not isinstance(fields, dict):
        raise ValueError(
            f'--body {text!r} is no JSON object. Give one such as {{"top_p": 0.9, "seed": null}}.'
        )
    return fields
