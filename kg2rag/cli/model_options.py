"""The options of commands that ask a language model: the endpoint, and the types of a typed graph."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from kg2rag.compute import ChatModel
    from kg2rag.extraction.prompted import PromptStyle
    from kg2rag.types import Corpus

_option = partial(typer.Option, rich_help_panel="Language model")
_typed = partial(typer.Option, rich_help_panel="Extractor typed")


@dataclass(frozen=True)
class ModelOptions:
    """The options of a language model."""

    base_url: Annotated[str | None, _option(help="OpenAI-compatible endpoint, with its /v1.")] = None
    model: Annotated[str | None, _option(help="Its name there.")] = None
    api_key_env: Annotated[str, _option(help="Environment variable with the key; none for no key.")] = "OPENAI_API_KEY"
    structured: Annotated[Literal["json_schema", "json_object", "prompt"], _option(help="How JSON is requested.")] = (
        "json_schema"
    )
    temperature: Annotated[float, _option(min=0)] = 0.0
    max_tokens: Annotated[int, _option(min=1, help="Of an answer.")] = 2048
    concurrency: Annotated[int, _option(min=1, help="Requests at a time.")] = 8
    rpm: Annotated[float | None, _option(help="Requests a minute, retries included.")] = None
    timeout: Annotated[float, _option(help="Seconds without a byte.")] = 60.0
    max_calls: Annotated[int | None, _option(min=1, help="Send no more requests, retries included.")] = None
    max_cost: Annotated[float | None, _option(help="Spend no more; needs both prices.")] = None
    prompt_price: Annotated[float | None, _option(help="Per million tokens.")] = None
    completion_price: Annotated[float | None, _option(help="Per million tokens.")] = None

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


@dataclass(frozen=True)
class TypeOptions:
    """The options of the extractor "typed"."""

    schema: Annotated[Path | None, _typed(help="TOML with entity_types, relation_types or both; else any.")] = None
    infer_schema: Annotated[
        int | None, _typed(min=1, help="Where --schema is not there yet: infer it from so many passages, write it.")
    ] = None
    merge_descriptions: Annotated[
        bool, _typed("--merge-descriptions", help="Let the model merge what several passages say of an entity.")
    ] = False

    def check(self, extractor: str) -> None:
        """ValueError for an option that the extractor, or the lack of another option, leaves without a meaning."""
        given = [name.replace("_", "-") for name, value in vars(self).items() if value]
        if given and extractor != "typed":
            raise ValueError(f"--{given[0]} is for --extractor typed.")
        if self.infer_schema is not None and self.schema is None:
            raise ValueError("--infer-schema needs --schema, the file that it writes.")

    def style(self, extractor: str, model: ChatModel, corpus: Corpus, *, send: bool, retry_failed: bool) -> PromptStyle:
        """The style under the schema, which is read, or inferred and written where `send` allows it."""
        from kg2rag.extraction.prompted import STYLES, GraphSchema, infer_schema

        if self.schema is None:
            return STYLES[extractor]
        if self.schema.exists() or self.infer_schema is None:
            return STYLES["typed"].typed(GraphSchema.read(self.schema))
        if not send:
            typer.echo(
                f"{self.schema} is not there yet: {self.infer_schema} calls will infer it. Planned without types."
            )
            return STYLES["typed"]
        found = infer_schema(model, corpus, passages=self.infer_schema, retry_failed=retry_failed)
        found.write(self.schema)
        counts = f"{len(found.entity_types)} entity types, {len(found.relation_types)} relation types"
        typer.echo(
            f"Schema ({counts}) written to {self.schema}; edit it there and build again, if it should be another."
        )
        return STYLES["typed"].typed(found)
