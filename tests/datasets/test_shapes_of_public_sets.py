"""Public sets in every shape that their users have: reordered, as JSON of the hub, with JSON as text in columns."""

from __future__ import annotations

import json

import pytest

import kg2rag

PARAGRAPHS = [
    {"idx": 1, "title": "Acme", "paragraph_text": "Acme was founded by Ida Berg.", "is_supporting": True},
    {"idx": 0, "title": "Halina", "paragraph_text": "Halina was built by Acme.", "is_supporting": True},
]
HOPS = [{"paragraph_support_idx": 0}, {"paragraph_support_idx": 1}]
MUSIQUE = {"id": "2hop__1", "question": "Who founded the builder?", "answer": "Ida Berg", "paragraphs": PARAGRAPHS}
MUSIQUE |= {"question_decomposition": HOPS, "answer_aliases": []}
FACTS = {"title": ["Halina", "Marek Lund"], "sent_id": [0, 0]}
CONTEXT = {"title": ["Halina", "Marek Lund"], "sentences": [["A ferry."], ["A man."]]}
HOTPOT = {"id": "h", "question": "Who sails?", "answer": "Lund", "supporting_facts": FACTS, "context": CONTEXT}


@pytest.mark.parametrize("columns", [(), ("paragraphs", "question_decomposition", "answer_aliases")])
def test_a_chain_of_musique_follows_the_numbers_of_its_paragraphs(tmp_path, columns):
    record = {name: json.dumps(value) if name in columns else value for name, value in MUSIQUE.items()}
    (tmp_path / "musique.json").write_text(json.dumps([record]))
    assert kg2rag.load("musique", path=tmp_path / "musique.json").questions[0].chain == ("Halina", "Acme")


@pytest.mark.parametrize("name", ["hotpot.json", "hotpot.jsonl"])
@pytest.mark.parametrize("columns", [(), ("context", "supporting_facts")])
def test_hotpotqa_of_the_hub_is_read_as_json(tmp_path, name, columns):
    record = {field: json.dumps(value) if field in columns else value for field, value in HOTPOT.items()}
    (tmp_path / name).write_text(json.dumps(record if name.endswith("l") else [record]))
    assert dict(kg2rag.load("hotpotqa", path=tmp_path / name).questions[0].gold) == {"Halina": 1, "Marek Lund": 1}


@pytest.mark.parametrize("name", ["hotpot_dev_fullwiki_v1.json", "renamed.json"])
def test_the_fullwiki_file_is_refused_by_what_it_is(tmp_path, name):
    record = HOTPOT | {"context": {"title": ["Halina"], "sentences": [["A ferry."]]}}
    (tmp_path / name).write_text(json.dumps([record]))
    with pytest.raises(ValueError, match="distractor"):
        kg2rag.load("hotpotqa", path=tmp_path / name)
