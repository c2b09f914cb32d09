"""Questions -> dev, where configurations are chosen, and test, where the chosen ones are judged."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kg2rag.types import QADataset, Question


@dataclass(frozen=True)
class Split:
    """How questions are divided.

    Parameters
    ----------
    dev : the share of questions to choose by, in (0, 1); or, with `test`, the name of the set's own split.
    test : the name of the set's own split.
    seed : of the draw.
    stratify : whether each type of question (or number of hops, where types are not known) is shared in proportion.
    """

    dev: float | str = 0.5
    test: str | None = None
    seed: int = 0
    stratify: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.dev, str) != isinstance(self.test, str) or self.dev == self.test:
            raise ValueError(
                f"split: dev = {self.dev!r}, test = {self.test!r}. Give dev as a share alone, such as 0.5, or dev and "
                "test as two of the set's own splits."
            )
        share = isinstance(self.dev, int | float) and not isinstance(self.dev, bool) and 0 < self.dev < 1
        if not (share or isinstance(self.dev, str)):
            raise ValueError(f"split.dev = {self.dev!r}: expected a share between 0 and 1.")
        if not isinstance(self.stratify, bool):
            raise ValueError(f"split.stratify = {self.stratify!r}: expected true or false.")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise ValueError(f"split.seed = {self.seed!r}: expected a whole number, at least 0.")

    @classmethod
    def read(cls, given: object) -> Split:
        """A split from the table of a sweep file."""
        known = ("dev", "seed", "stratify", "test")
        if not isinstance(given, Mapping):
            raise ValueError(f"split = {given!r}: expected a table with {', '.join(known)}.")
        for key in given:
            if key not in known:
                raise ValueError(f"Unknown key split.{key}. Known: {', '.join(known)}.")
        return cls(**given)

    @property
    def names(self) -> tuple[str, ...]:
        """The set's own splits, dev first; empty where the questions of one set are drawn."""
        return () if self.test is None else (str(self.dev), self.test)

    @property
    def described(self) -> dict[str, object]:
        """What determines the split of each question, as JSON values."""
        if self.names:
            return {"dev": self.dev, "test": self.test}
        return {"dev": self.dev, "seed": self.seed, "stratify": self.stratify}

    def labels(self, data: Sequence[QADataset]) -> list[list[str]]:
        """For each question of each data set, "dev" or "test".

        Raises
        ------
        ValueError : one of the two would be empty.
        """
        if self.names:
            return [[name] * len(one) for name, one in zip(("dev", "test"), data, strict=True)]
        (only,) = data
        dev = self._drawn(only.questions)
        if not 0 < len(dev) < len(only):
            raise ValueError(
                f"split.dev = {self.dev} of {len(only)} questions leaves none for {'test' if dev else 'dev'}."
            )
        return [["dev" if i in dev else "test" for i in range(len(only))]]

    def _drawn(self, questions: Sequence[Question]) -> set[int]:
        """Questions at even distances in a line of all groups, each shuffled."""
        random = np.random.default_rng(self.seed)
        groups: dict[str, list[int]] = {}
        for i, question in enumerate(questions):
            group = (question.type or str(question.hops or "")) if self.stratify else ""
            groups.setdefault(group, []).append(i)
        line = [i for name in sorted(groups) for i in random.permutation(groups[name]).tolist()]
        share = float(self.dev)
        # The n-th is drawn where n · share passes a whole number: each stretch of the line gives its share.
        return {i for n, i in enumerate(line) if math.floor((n + 1) * share) > math.floor(n * share)}
