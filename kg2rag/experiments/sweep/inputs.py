"""A sweep -> what its scores depend on besides the configurations, as JSON values: recorded, never used."""

from __future__ import annotations

from typing import Any

from kg2rag.compute import Embedder, Store
from kg2rag.evaluation import provenance
from kg2rag.experiments.sweep.definition import SweepDefinition
from kg2rag.experiments.sweep.resources import each_value_once, smallest
from kg2rag.retrievers import systems


def inputs(sweep: SweepDefinition) -> dict[str, Any]:
    """Data sets by setting, graphs and encoders by label, and what of the systems was fitted or chosen on questions.

    Encoders are opened: the number format that "auto" chose is among what they say of themselves.
    """
    store = sweep.store or Store()
    parameters = {
        name: provenance.parameters(systems.build(name, smallest(), **next(each_value_once(spaces))))
        for name, spaces in sweep.spaces
    }
    return {
        "data": {name: [provenance.data(one) for one in sweep.opened(name)] for name in sweep.datasets},
        "graphs": {
            label: {"source": repr(source), "fingerprint": source.fingerprint}
            for label, source in sweep.graph_sources.items()
        },
        "encoders": {label: _encoder(one, store) for label, one in sweep.embedders.items()},
        "tuning": provenance.tuning(parameters),
    }


def _encoder(embedder: Embedder, store: Store) -> dict[str, Any]:
    describe = getattr(embedder, "describe", None)
    about = {"encoder": repr(embedder), "fingerprint": embedder.fingerprint(store)}
    return {**about, **(describe(store) if describe else {})}
