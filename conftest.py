"""What tests, notebooks and doctests of a session share: one store, one encoder, no network."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from collections.abc import Generator

import pytest

STORE = "KG2RAG_TEST_STORE"
"""Environment variable with the store of the session; a folder that it names already is used, and kept."""


def pytest_configure(config: pytest.Config) -> None:
    """Name the store in the environment, which workers, notebooks and commands inherit: each text is encoded once.

    In float32, because in half precision the last digits of a vector depend on the texts that are encoded with it.
    """
    if STORE not in os.environ:
        os.environ[STORE] = tempfile.mkdtemp(prefix="kg2rag-tests-")
        config.add_cleanup(lambda: shutil.rmtree(os.environ[STORE], ignore_errors=True))
    os.environ["KG2RAG_STORE"] = os.environ[STORE]
    os.environ["KG2RAG_DTYPE"] = "float32"
    os.environ["HF_HUB_OFFLINE"] = "1"  # the encoder comes from the offline package


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage while the tests are imported: a million objects, all of which stay until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
