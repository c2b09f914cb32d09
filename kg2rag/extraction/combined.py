"""Several sources -> one: their triples, mentions and entities together."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass, replace

from kg2rag.extraction import Extraction, Extractor
from kg2rag.extraction.given import joined
from kg2rag.types.corpus import Corpus


@dataclass(frozen=True)
class CombinedExtractor:
    """The extractions of several sources over one corpus, one after the other.

    Exact duplicates become one where the graph is built. Of an entity that several sources describe, the first type and
    description are kept, and all aliases.

    Parameters
    ----------
    sources : at least two, such as `(Mentions(), HippoRAGOpenIE(path))`.
    """

    sources: tuple[Extractor, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "sources", tuple(self.sources))
        if len(self.sources) < 2:
            raise ValueError(f"A union needs at least two sources, not {len(self.sources)}.")
        for source in self.sources:
            if not isinstance(source, Extractor):
                raise ValueError(
                    f"{source!r} is no source: it has no fingerprint or no extract. Make names with parse."
                )

    @property
    def fingerprint(self) -> str:
        """Those of the sources, in their order."""
        parts = ["union-1", *(source.fingerprint for source in self.sources)]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def extract(self, corpus: Corpus) -> Extraction:
        """What every source found; `notes` names the source of each cause ("HippoRAGOpenIE: …")."""
        found = [source.extract(corpus) for source in self.sources]
        notes = {
            f"{label}: {cause}": count
            for label, extraction in zip(self._labels(), found, strict=True)
            for cause, count in extraction.notes.items()
        }
        return replace(joined(*found), notes=notes)

    def _labels(self) -> list[str]:
        """The kinds of the sources; several of one kind are numbered from 1."""
        kinds = [type(source).__name__ for source in self.sources]
        seen: Counter[str] = Counter()
        labels = []
        for kind in kinds:
            seen[kind] += 1
            labels.append(f"{kind} {seen[kind]}" if kinds.count(kind) > 1 else kind)
        return labels
