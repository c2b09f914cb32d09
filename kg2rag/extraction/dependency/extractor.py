"""Passages -> triples by rules over dependency parses, with any spaCy model that the user has. No language model.

After Min et al. [1], who build graphs from dependency parses at a fraction of an LLM's cost; the rules, in
`rules`, are ours.

[1] Min et al., "Towards Practical GraphRAG", arXiv 2507.03226.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kg2rag.extraction import Extraction, Mention
from kg2rag.extraction.dependency.rules import VERSION, Token, facts
from kg2rag.types.corpus import Corpus
from kg2rag.types.passages import Triple


@dataclass(frozen=True)
class DependencyTriples:
    """Subject, verb and object; verb and prepositional object; apposition; copula; each end a noun phrase.

    Parameters
    ----------
    model : an installed spaCy pipeline with tagger, parser and lemmatiser, or the folder of one.
    """

    model: str = "en_core_web_sm"

    @property
    def fingerprint(self) -> str:
        """The rules' version, spaCy's and the model's."""
        spacy = _spacy()
        folder = Path(self.model)
        if folder.is_dir():
            meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
            version = f"{meta.get('name')}-{meta.get('version')}"
        else:
            try:
                version = importlib.metadata.version(self.model)
            except importlib.metadata.PackageNotFoundError:
                raise FileNotFoundError(_missing(self.model)) from None
        return f"dependency-{VERSION}, spacy {spacy.__version__}, {self.model} {version}"

    def extract(self, corpus: Corpus) -> Extraction:
        """Triples of every passage, and a mention for every noun phrase that is an end of one.

        Raises
        ------
        ImportError : spaCy is not installed. FileNotFoundError : the model is not; the message says how to get it.
        ValueError : the model does not parse.
        """
        pipeline = self._pipeline()
        texts = [corpus[row].text for row in range(len(corpus))]
        triples: dict[Triple, None] = {}
        mentions: dict[Mention, None] = {}
        notes: Counter[str] = Counter()
        for id_, document in zip(corpus.ids, pipeline.pipe(texts), strict=True):
            found = [fact for sentence in document.sents for fact in facts(tokens_of(sentence))]
            notes["passages without a triple"] += not found
            for fact in found:
                triples[Triple(*fact, id_)] = None
                mentions.update({Mention(fact.head, id_): None, Mention(fact.tail, id_): None})
        return Extraction(tuple(triples), tuple(mentions), notes={cause: n for cause, n in notes.items() if n})

    def _pipeline(self) -> Any:
        spacy = _spacy()
        try:
            pipeline = spacy.load(self.model)
        except OSError as error:  # spaCy's E050: neither a package nor a folder
            raise FileNotFoundError(_missing(self.model)) from error
        if "parser" not in pipeline.pipe_names:
            raise ValueError(
                f"spaCy model {self.model!r} has no parser, only {', '.join(pipeline.pipe_names) or 'nothing'}."
                " Take one that parses, such as en_core_web_sm."
            )
        return pipeline


def _spacy() -> Any:
    try:
        return importlib.import_module("spacy")
    except ImportError as error:
        raise ImportError("The graph source 'dependency' needs spaCy: pip install spacy, then a model.") from error


def _missing(model: str) -> str:
    return f"spaCy model {model!r} is not installed. Get it with: python -m spacy download {model}; or give a folder."


def tokens_of(sentence: Iterable[Any]) -> list[Token]:
    """A spaCy sentence as tokens; heads are counted from the sentence's first word."""
    words = list(sentence)
    first = words[0].i if words else 0
    return [Token(word.text, word.lemma_, word.pos_, word.dep_, word.head.i - first) for word in words]
