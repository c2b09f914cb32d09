"""Facts of sentences parsed by hand, and what a missing spaCy or model is answered with."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from kg2rag.extraction.dependency import DependencyTriples, Token, facts
from kg2rag.extraction.sources import SOURCES
from kg2rag.types import Corpus, Passage


def parsed(*rows: str) -> list[Token]:
    """One token a row: text lemma POS dependency head, the head counted from 1 and 0 for the root."""
    tokens = []
    for at, row in enumerate(rows):
        text, lemma, pos, dep, head = row.split()
        tokens.append(Token(text, lemma, pos, dep, int(head) - 1 if head != "0" else at))
    return tokens


def said(*rows: str) -> list[str]:
    return [f"{fact.head} | {fact.relation} | {fact.tail}" for fact in facts(parsed(*rows))]


DIRECTED = (
    "Tim Tim PROPN compound 2",
    "Burton Burton PROPN nsubj 3",
    "directed direct VERB ROOT 0",
    "the the DET det 6",
    "dark dark ADJ amod 6",
    "film film NOUN dobj 3",
)


def test_a_verb_joins_its_subject_and_object_and_compounds_are_one_name() -> None:
    assert said(*DIRECTED) == ["Tim Burton | direct | dark film"]


def test_universal_dependencies_are_understood_too() -> None:
    assert said(*(row.replace("dobj", "obj") for row in DIRECTED)) == ["Tim Burton | direct | dark film"]


def test_the_agent_of_a_passive_is_its_head() -> None:
    assert said(
        "Rebecca Rebecca PROPN nsubjpass 3",
        "was be AUX auxpass 3",
        "written write VERB ROOT 0",
        "by by ADP agent 3",
        "Maurier Maurier PROPN pobj 4",
        "in in ADP prep 3",
        "Cornwall Cornwall PROPN pobj 6",
    ) == ["Maurier | write | Rebecca", "Rebecca | be written in | Cornwall"]


def test_the_agent_of_a_passive_in_universal_dependencies() -> None:
    assert said(
        "Rebecca Rebecca PROPN nsubj:pass 3",
        "was be AUX aux:pass 3",
        "written write VERB root 0",
        "by by ADP case 5",
        "Maurier Maurier PROPN obl:agent 3",
    ) == ["Maurier | write | Rebecca"]


def test_a_prepositional_object_has_its_preposition_in_the_relation() -> None:
    assert said(
        "Curie Curie PROPN nsubj 2",
        "worked work VERB ROOT 0",
        "in in ADP prep 2",
        "Paris Paris PROPN pobj 3",
        "with with ADP prep 2",
        "Pierre Pierre PROPN pobj 5",
    ) == ["Curie | work in | Paris", "Curie | work with | Pierre"]


def test_a_copula_says_what_its_subject_is_and_of_what() -> None:
    assert said(
        "Paris Paris PROPN nsubj 2",
        "is be AUX ROOT 0",
        "the the DET det 4",
        "capital capital NOUN attr 2",
        "of of ADP prep 4",
        "France France PROPN pobj 5",
    ) == ["Paris | be | capital", "Paris | be capital of | France"]


def test_a_copula_hanging_from_its_noun_says_the_same() -> None:
    assert said(
        "Paris Paris PROPN nsubj 4",
        "is be AUX cop 4",
        "the the DET det 4",
        "capital capital NOUN root 0",
        "of of ADP case 6",
        "France France PROPN nmod 4",
    ) == ["Paris | be | capital", "Paris | be capital of | France"]


def test_an_apposition_says_what_a_noun_is() -> None:
    assert said(
        "Ada Ada PROPN compound 2",
        "Lovelace Lovelace PROPN nsubj 6",
        ", , PUNCT punct 2",
        "a a DET det 5",
        "mathematician mathematician NOUN appos 2",
        "smiled smile VERB ROOT 0",
    ) == ["Ada Lovelace | be | mathematician"]


def test_coordinated_nouns_are_ends_of_their_own() -> None:
    assert said(
        "Lennon Lennon PROPN nsubj 4",
        "and and CCONJ cc 1",
        "McCartney McCartney PROPN conj 1",
        "wrote write VERB ROOT 0",
        "songs song NOUN dobj 4",
        "and and CCONJ cc 5",
        "plays play NOUN conj 5",
    ) == [f"{who} | write | {what}" for who in ("Lennon", "McCartney") for what in ("songs", "plays")]


def test_a_coordinated_verb_has_the_subject_of_the_first_even_of_a_passive() -> None:
    assert said(
        "Einstein Einstein PROPN nsubjpass 3",
        "was be AUX auxpass 3",
        "born bear VERB ROOT 0",
        "in in ADP prep 3",
        "Ulm Ulm PROPN pobj 4",
        "and and CCONJ cc 3",
        "studied study VERB conj 3",
        "physics physics NOUN dobj 7",
    ) == ["Einstein | be born in | Ulm", "Einstein | study | physics"]


def test_a_coordinated_verb_with_a_pronoun_of_its_own_has_no_other_subject() -> None:
    assert (
        said(
            "Ann Ann PROPN nsubj 2",
            "wrote write VERB ROOT 0",
            "and and CCONJ cc 2",
            "she she PRON nsubj 5",
            "painted paint VERB conj 2",
            "trees tree NOUN dobj 5",
        )
        == []
    )


def test_a_relative_clause_speaks_of_its_noun() -> None:
    assert said(
        "engine engine NOUN ROOT 0",
        "that that PRON nsubj 3",
        "drives drive VERB relcl 1",
        "mills mill NOUN dobj 3",
    ) == ["engine | drive | mills"]


@pytest.mark.parametrize(
    ("participle", "side", "noun", "fact"),
    [
        ("built build VERB acl 1", "by by ADP agent 2", "Eiffel Eiffel PROPN pobj 3", "Eiffel | build | bridge"),
        ("standing stand VERB acl 1", "in in ADP prep 2", "Porto Porto PROPN pobj 3", "bridge | stand in | Porto"),
        ("opened open VERB acl 1", "in in ADP prep 2", "1889 1889 NUM pobj 3", "bridge | be opened in | 1889"),
    ],
)
def test_a_participle_speaks_of_its_noun(participle: str, side: str, noun: str, fact: str) -> None:
    assert said("bridge bridge NOUN ROOT 0", participle, side, noun) == [fact]


def test_particles_and_negations_belong_to_the_relation() -> None:
    assert said(
        "Rome Rome PROPN nsubj 4",
        "did do AUX aux 4",
        "not not PART neg 4",
        "give give VERB ROOT 0",
        "up up ADP prt 4",
        "Gaul Gaul PROPN dobj 4",
    ) == ["Rome | not give up | Gaul"]


def test_possessives_stay_in_the_name() -> None:
    assert said(
        "Kepler Kepler PROPN poss 3",
        "'s 's PART case 1",
        "laws law NOUN nsubj 4",
        "describe describe VERB ROOT 0",
        "orbits orbit NOUN dobj 4",
    ) == ["Kepler 's laws | describe | orbits"]


def test_pronouns_and_facts_about_themselves_are_left_out() -> None:
    assert said("She she PRON nsubj 2", "paints paint VERB ROOT 0", "trees tree NOUN dobj 2") == []
    assert said("Art art NOUN nsubj 2", "imitates imitate VERB ROOT 0", "art art NOUN dobj 2") == []


def test_an_empty_sentence_states_nothing() -> None:
    assert facts([]) == []


@dataclass
class Word:
    """What we read of a spaCy token."""

    token: Token
    i: int
    words: list[Word] = field(repr=False)
    first: int = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.token, {"lemma_": "lemma", "pos_": "pos", "dep_": "dep"}.get(name, name))

    @property
    def head(self) -> Word:
        return self.words[self.token.head]


class Pipeline:
    """Parses every text as sentences that were parsed by hand; positions run on through the document, as spaCy's do."""

    pipe_names: Sequence[str] = ("tagger", "parser", "lemmatizer")

    def pipe(self, texts: Sequence[str]) -> Iterator[SimpleNamespace]:
        for text in texts:
            sentences, start = [], 0
            for _ in range(text.count(".")):
                words: list[Word] = []
                words += [Word(token, start + at, words) for at, token in enumerate(parsed(*DIRECTED))]
                sentences.append(words)
                start += len(words)
            yield SimpleNamespace(sents=sentences)


def with_spacy(monkeypatch: pytest.MonkeyPatch, load: Any) -> None:
    monkeypatch.setitem(sys.modules, "spacy", SimpleNamespace(load=load, __version__="9.9"))


CORPUS = Corpus.from_passages(
    [Passage("p0", "", "One. Two.", "d0", 0), Passage("p1", "", "Three.", "d1", 0), Passage("p2", "", "None", "d2", 0)]
)


def test_a_corpus_gives_triples_mentions_and_a_count_of_passages_without(monkeypatch: pytest.MonkeyPatch) -> None:
    with_spacy(monkeypatch, lambda _: Pipeline())
    found = DependencyTriples().extract(CORPUS)
    assert [(triple.passage_id, str(triple)) for triple in found.triples] == [
        ("p0", "Tim Burton -[direct]-> dark film"),
        ("p1", "Tim Burton -[direct]-> dark film"),
    ]
    assert [(m.passage_id, m.entity) for m in found.mentions][:2] == [("p0", "Tim Burton"), ("p0", "dark film")]
    assert found.notes == {"passages without a triple": 1}


def test_a_missing_spacy_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)  # what makes an import fail
    with pytest.raises(ImportError, match="needs spaCy: pip install spacy"):
        DependencyTriples().extract(CORPUS)


def test_a_missing_model_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(model: str) -> None:
        raise OSError(f"[E050] Can't find model '{model}'.")

    with_spacy(monkeypatch, load)
    system = DependencyTriples("en_no_such")
    for call in (lambda: system.extract(CORPUS), lambda: system.fingerprint):
        with pytest.raises(
            FileNotFoundError, match=r"'en_no_such' is not installed.*python -m spacy download en_no_such"
        ):
            call()


def test_a_model_that_does_not_parse_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with_spacy(monkeypatch, lambda _: SimpleNamespace(pipe_names=["ner"]))
    with pytest.raises(ValueError, match="has no parser, only ner"):
        DependencyTriples().extract(CORPUS)


def test_the_fingerprint_names_rules_spacy_and_model(monkeypatch: pytest.MonkeyPatch) -> None:
    with_spacy(monkeypatch, None)
    monkeypatch.setattr(importlib.metadata, "version", lambda name: f"3.1 of {name}")
    assert DependencyTriples("xx").fingerprint == "dependency-1, spacy 9.9, xx 3.1 of xx"


def test_the_source_takes_a_model_or_none() -> None:
    assert SOURCES.build("dependency") == DependencyTriples()
    assert SOURCES.build("dependency(de_core_news_sm)") == DependencyTriples("de_core_news_sm")
