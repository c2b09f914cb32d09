"""The former module of all encoders; `kg2rag.compute` has them."""

from kg2rag.compute import (
    EndpointEncoder,
    GivenEncoder,
    GivenVectors,
    StaticEncoder,
    embedder_named,
    embedder_of,
)

__all__ = [
    "EndpointEncoder",
    "GivenEncoder",
    "GivenVectors",
    "StaticEncoder",
    "embedder_named",
    "embedder_of",
]
