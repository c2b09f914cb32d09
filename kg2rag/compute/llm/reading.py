"""A reply of the endpoint -> a completion, or the failure to give what was requested."""

from __future__ import annotations

import json

from pydantic import BaseModel, ValidationError

from kg2rag.compute.llm.connection import Reply, complaints
from kg2rag.compute.llm.json_text import json_in, without_reasoning
from kg2rag.compute.llm.outcomes import Completion, Failure, Outcome


def read(reply: Reply, schema: type[BaseModel] | None, *, cached: bool) -> Outcome:
    """A reply as a completion, or as the failure to give what was requested."""

    def failed(reason: str) -> Failure:
        counts = (reply.prompt_tokens, reply.completion_tokens)
        return Failure("output", reason, reply.attempts, *counts, cached=cached)

    text = without_reasoning(reply.text)
    if reply.finish_reason == "length":
        return failed("the output was cut off at its token limit; raise max_tokens")
    if reply.finish_reason == "content_filter" or reply.refusal:
        return failed(f"the model refused: {reply.refusal or 'content filter'}")
    if not text.strip():
        return failed("the model wrote no text")
    parsed: BaseModel | None = None
    if schema is not None:
        try:
            value = json_in(text, keys=schema.model_json_schema().get("properties", {}))
            parsed = schema.model_validate_json(json.dumps(value))
        except ValidationError as error:
            return failed(f"the output does not fit {schema.__name__} ({complaints(error)})")
        except ValueError as error:
            return failed(f"{schema.__name__} was asked for, but {error}; the output begins {text[:80]!r}")
    return Completion(
        text=text,
        parsed=parsed,
        prompt_tokens=reply.prompt_tokens,
        completion_tokens=reply.completion_tokens,
        cached=cached,
        attempts=reply.attempts,
        served_model=reply.served_model,
    )
