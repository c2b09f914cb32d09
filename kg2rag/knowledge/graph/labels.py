"""Labels (relations, entity types) -> masks of those that a caller wants, whatever their spelling."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kg2rag.text.normalisation import entity_key
from kg2rag.types.arrays import IntArray


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels (relations, entity types) as codes of their normalised forms, so that a filter is one table look-up.

    `groups` numbers the distinct forms; `codes`, (n_labels,), points into them.
    """

    kind: str
    groups: Mapping[str, int]
    codes: IntArray

    @classmethod
    def of(cls, kind: str, labels: Sequence[str]) -> Labels:
        """The labels of one kind, which error messages name."""
        groups: dict[str, int] = {}
        codes = np.fromiter(
            (groups.setdefault(entity_key(label), len(groups)) for label in labels), np.int64, len(labels)
        )
        return cls(kind, groups, codes)

    def among(self, wanted: Iterable[str]) -> NDArray[np.bool_]:
        """(n_labels,) which labels are wanted; ValueError for a wanted one that there is none of."""
        chosen = np.zeros(len(self.groups), dtype=bool)
        for name in [wanted] if isinstance(wanted, str) else wanted:
            group = self.groups.get(entity_key(name))
            if group is None:
                known = sorted(set(self.groups) - {""})
                more = f" and {len(known) - 10} more" if len(known) > 10 else ""
                shown = ", ".join(map(repr, known[:10])) or "none at all"
                raise ValueError(f"The graph has no {self.kind} {name!r}. Known: {shown}{more}.")
            chosen[group] = True
        mask: NDArray[np.bool_] = chosen[self.codes]
        return mask
