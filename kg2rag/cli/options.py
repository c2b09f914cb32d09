"""Groups of options that commands share: a data set, workers, an encoder, systems, a language model."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from kg2rag.cli.declared import arg, opt, parse_settings, split_names
from kg2rag.cli.printing import print_line
from kg2rag.extraction.sources import SOURCES

if TYPE_CHECKING:
    from kg2rag.compute import ChatModel, Embedder
    from kg2rag.knowledge import KnowledgeBase
    from kg2rag.retrievers.contract import Retriever
    from kg2rag.types import Corpus, QADataset

GRAPHS = f"{', '.join(SOURCES.usages())}; joined by + for their union."
EMBEDDERS = (
    "A sentence-transformers model, bge-small, e5-base, gte-large and their like, or static:MODEL of model2vec (much "
    "faster); MiniLM otherwise."
)
NAMES = "names separated by commas; a=dense,b=dense are variants, set by --set b.PARAMETER."
DATASET = "Name of the set, which `kg2rag datasets list` names, or a folder of documents."
PROMPT = "What stands before each {}; what the model's files or its card say otherwise."


@dataclass(frozen=True)
class DataOptions:
    """The options that name a question set."""

    dataset: str = arg(..., DATASET)
    path: Path | None = opt(None, "File or folder of the set; the hub's copy otherwise.")
    questions: Path | None = opt(None, "A .jsonl or .csv of questions about your documents.")
    split: str | None = opt(None, "Split of the set; its default otherwise.")
    setting: Literal["pooled", "distractor"] | None = opt(None, "Search all passages, or each its own.")
    passages: Literal["paragraph", "sentence"] | None = opt(None, "What a passage is.")
    revision: str | None = opt(None, "Revision of the hub's copy.")

    def load(self) -> QADataset:
        """Load the set."""
        from kg2rag.datasets import Documents, load

        data = load(self.dataset, **{name: value for name, value in vars(self).items() if name != "dataset"})
        if isinstance(data, Documents):
            print_line(repr(data), err=True)
        return data

    @property
    def file_name(self) -> str:
        """The name of the set as it names files: `irds:beir/scifact/test` has signs that no file name should have."""
        from kg2rag.datasets import file_name

        place = Path(self.dataset).expanduser()
        return file_name(place.resolve().stem if self.path is None and place.exists() else self.dataset)


@dataclass(frozen=True)
class DrawOptions(DataOptions):
    """The options that name a question set, or a draw of its questions."""

    limit: int | None = opt(None, "Draw so many questions; the corpus stays whole.", min=1)
    seed: int = opt(0, "Of the draw, the bootstrap and the randomisation test.")

    def several(self, further: Sequence[str]) -> dict[str, DrawOptions]:
        """Name -> the options of this set and of further ones, of which `path` then holds a folder by name each."""
        if not further:
            return {self.file_name: self}
        names = [self.dataset, *further]
        for twice in (name for name in names if names.count(name) > 1):
            raise ValueError(f"The set {twice!r} is named twice.")
        sets = [replace(self, dataset=name, path=self.path and self.path / name) for name in names]
        return {one.file_name: one for one in sets}


@dataclass(frozen=True)
class WorkerOptions:
    """The options that say by whom independent pieces of work are done; they change no result."""

    jobs: int | None = opt(None, "Processes; 0: as many as processors. One otherwise.", min=0)
    backend: str = opt("loky", "loky (processes on this machine) or dask.")
    cluster: str | None = opt(None, "Address of a running Dask; a local one otherwise.")

    def open(self) -> AbstractContextManager[int]:
        """`kg2rag.compute.workers`: this process alone where nothing is asked for."""
        from kg2rag.compute import workers

        alone = self.backend == "loky" and self.cluster is None
        return workers((1 if alone else 0) if self.jobs is None else self.jobs, self.backend, self.cluster)


@dataclass(frozen=True)
class EncoderOptions:
    """The options of the encoder."""

    embedder: str | None = opt(None, EMBEDDERS)
    dtype: str = opt("auto", "auto, bfloat16 or float32; on a GPU also float16.", envvar="KG2RAG_DTYPE")
    device: str = opt("cpu", "cpu, cuda (the first GPU), auto, or such as cuda:1.")
    query_prompt: str | None = opt(None, PROMPT.format("query"))
    passage_prompt: str | None = opt(None, PROMPT.format("passage"))

    def encoder(self) -> Embedder:
        """The encoder; ValueError for a name, format or device that there is not."""
        from kg2rag.compute import DEFAULT_MODEL, embedder_named

        prompts = {"query_prompt": self.query_prompt, "passage_prompt": self.passage_prompt}
        return embedder_named(self.embedder or DEFAULT_MODEL, dtype=self.dtype, device=self.device, **prompts)


@dataclass(frozen=True)
class SystemOptions(EncoderOptions):
    """The options that name systems and what they run on."""

    graph: str = opt("mentions", GRAPHS)
    systems: str = opt("core", f"core (the seven of a first comparison), all, my.module:Class, or {NAMES}")
    settings: list[str] | None = opt(None, "system.parameter=value; may be repeated.", "--set")

    def build(self, corpus: Corpus) -> tuple[KnowledgeBase, dict[str, Retriever]]:
        """The knowledge base over a corpus, and the systems by name."""
        from kg2rag.knowledge import KnowledgeBase
        from kg2rag.retrievers.systems import CORE, build_all

        kb = KnowledgeBase.build(corpus, self.graph, embedder=self.encoder())
        named = {"core": CORE, "all": None}
        wanted = named[self.systems] if self.systems in named else split_names(self.systems)
        return kb, build_all(kb, wanted, parse_settings(self.settings or []), modules=True)


LLM = {"rich_help_panel": "Language model"}


@dataclass(frozen=True)
class ModelOptions:
    """The options of a language model."""

    base_url: str | None = opt(None, "OpenAI-compatible endpoint, with its /v1.", **LLM)
    model: str | None = opt(None, "Its name there.", **LLM)
    api_key_env: str | None = opt(
        None, "Variable with the key for --base-url; OPENAI_API_KEY for OpenAI's address and OPENAI_BASE_URL.", **LLM
    )
    structured: Literal["json_schema", "json_object", "prompt"] = opt("json_schema", "How JSON is requested.", **LLM)
    temperature: float = opt(0.0, None, min=0, **LLM)
    max_tokens: int = opt(2048, "Of an answer.", min=1, **LLM)
    concurrency: int | None = opt(None, "Requests at a time; default 8, and 2 for this machine.", min=1, **LLM)
    timeout: float = opt(60.0, "Seconds without a byte.", **LLM)
    max_calls: int | None = opt(None, "Send no more requests, retries included.", min=1, **LLM)
    max_cost: float | None = opt(None, "Spend no more; needs both prices.", **LLM)
    prompt_price: float | None = opt(None, "Per million tokens.", **LLM)
    completion_price: float | None = opt(None, "Per million tokens.", **LLM)

    def open(self, what: str) -> ChatModel:
        """The model's endpoint; ValueError where it is not named, `what` being what asks it."""
        from kg2rag.compute import ChatModel, Spending

        if self.base_url is None or self.model is None:
            raise ValueError(f"{what} asks a language model: give --base-url and --model.")
        key = None if self.api_key_env in ("none", "") else self.api_key_env
        options = asdict(self)
        limits = options.pop("max_calls"), options.pop("max_cost")
        spending = None if limits == (None, None) else Spending(*limits)
        return ChatModel(**options | {"api_key_env": key, "spending": spending})
