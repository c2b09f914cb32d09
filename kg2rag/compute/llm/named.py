"""The name of a language model, as the command line takes it -> the model: "MODEL@BASE_URL"."""

from __future__ import annotations

import os

from kg2rag.compute.llm.model import ChatModel
from kg2rag.compute.store import Store
from kg2rag.types import ParameterError

KEY = "OPENAI_API_KEY"


def chat_model(name: str, store: Store, kind: str) -> ChatModel:
    """The model of a name such as "qwen3:8b@http://localhost:11434/v1"; its key comes from `KEY`, where that is set.

    Parameters
    ----------
    store : keeps the answers.
    kind : what is named, as it begins the whole name: "llm" in "llm:MODEL@BASE_URL". For errors.

    Raises
    ------
    ParameterError : a model or an address is missing.
    """
    model, _, base_url = name.rpartition("@")
    if not (model and base_url):
        raise ParameterError(
            f"{kind!r} needs a model and its OpenAI-compatible endpoint: {kind}:MODEL@BASE_URL, such as "
            f"{kind}:qwen3:8b@http://localhost:11434/v1. A key is read from {KEY}."
        )
    return ChatModel(base_url, model, api_key_env=KEY if os.environ.get(KEY) else None, store=store)
