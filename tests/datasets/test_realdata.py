"""The public sets as they lie in the folder of real data: sizes, first and last items, and what graph files rely on."""

import json

import pytest

from kg2rag.datasets import load

pytestmark = pytest.mark.realdata

# name and options -> folder, questions, passages, first and last question, first and last passage
PINNED = {
    ("musique",): (
        "musique-100", 100, 1890, "2hop__150763_14904", "2hop__131644_88123",
        "Journal of Mathematical Physics", "Lewistown, Illinois",
    ),
    ("hotpotqa",): (
        "hotpotqa-300", 300, 2970, "5ac1b1345542994ab5c67dd0", "5abc0a5d5542993f40c73c64",
        "Field marshal (United Kingdom)", "Robin Goldstein",
    ),
    ("hotpotqa", ("setting", "pooled"), ("passages", "sentence")): (
        "hotpotqa-300", 300, 12463, "5ac1b1345542994ab5c67dd0", "5abc0a5d5542993f40c73c64",
        "Field marshal (United Kingdom)##0", "Robin Goldstein##4",
    ),
    ("2wiki",): (
        "2wiki-1000", 965, 6119, "83bf3b5a0bd911eba7f7acde48001122", "308416280bb011ebab90acde48001122",
        "Teutberga", "Margaret of L'Aigle",
    ),
    ("2wiki-kg",): (
        "2wiki-kg-500", 100, 851, "02b62fce087211ebbd64ac1f6bf848b6", "42ea658c0bde11eba7f7acde48001122",
        "c00010", "c03316",
    ),
    ("2wiki-kg", ("split", "all")): (
        "2wiki-kg-500", 500, 3350, "9885e6f20bb011ebab90acde48001122", "42d74ba00bde11eba7f7acde48001122",
        "c00000", "c03349",
    ),
    ("cosqa",): ("cosqa-500", 499, 6259, "cosqa-train-8333", "cosqa-train-2927", "0", "6266"),
}  # fmt: skip


@pytest.mark.parametrize(
    "key", PINNED, ids=lambda key: "-".join(str(part) for part in key)
)
def test_a_set_has_its_size_and_its_first_and_last_items(key, shared_data):
    folder, *expected = PINNED[key]
    data = load(key[0], path=shared_data / folder, **dict(key[1:]))
    ids = [question.id for question in data.questions]
    assert [
        len(ids),
        len(data.corpus),
        ids[0],
        ids[-1],
        data.corpus.ids[0],
        data.corpus.ids[-1],
    ] == expected


def test_musiques_pooled_paragraphs_equal_its_corpus_file_and_the_openie_files_passages(
    shared_data, tmp_path
):
    alone = tmp_path / "musique.json"
    alone.write_bytes((shared_data / "musique-100" / "musique.json").read_bytes())
    pooled = load("musique", path=alone)
    assert (
        pooled.corpus.fingerprint
        == load("musique", path=shared_data / "musique-100").corpus.fingerprint
    )
    data = load("musique", path=shared_data / "musique-100")
    docs = json.loads(data.graph_files["openie"].read_text(encoding="utf-8"))["docs"]
    assert [doc["passage"] for doc in docs] == data.corpus.contents
    hops = [question.hops for question in data.questions]
    assert [hops.count(number) for number in (2, 3, 4)] == [68, 27, 5]


@pytest.mark.parametrize(
    ("name", "folder"), [("musique", "musique-100"), ("2wiki", "2wiki-1000")]
)
def test_hipporags_loader_and_the_sets_own_agree(name, folder, shared_data):
    own, general = (
        load(name, path=shared_data / folder),
        load("hipporag", path=shared_data / folder),
    )
    assert own.questions == general.questions
    assert (own.name, own.corpus.fingerprint) == (
        general.name,
        general.corpus.fingerprint,
    )


def test_the_sub_graphs_name_titles_and_sentences_that_hotpotqa_has(shared_data):
    data = load("hotpotqa", path=shared_data / "hotpotqa-300", setting="pooled")
    sizes = {
        title: len(data.corpus.sentences(row))
        for row, title in enumerate(data.corpus.titles)
    }
    lines = data.graph_files["subkgs"].read_text(encoding="utf-8").splitlines()
    graphs = {graph["title"]: graph["sentences"] for graph in map(json.loads, lines)}
    assert graphs.keys() == sizes.keys()
    assert all(
        int(index) < sizes[title]
        for title, sentences in graphs.items()
        for index in sentences
    )


def test_the_triples_of_2wiki_kg_lie_in_the_test_splits_chunks_and_2wikis_gold_status_is_counted(
    shared_data,
):
    data = load("2wiki-kg", path=shared_data / "2wiki-kg-500")
    lines = data.graph_files["triples"].read_text(encoding="utf-8").splitlines()
    assert {json.loads(line)["chunk_id"] for line in lines} <= set(data.corpus.ids)
    status = load("2wiki", path=shared_data / "2wiki-1000").source["gold_status"]
    assert status == {"authoritative": 306, "derived-strong": 610, "derived-weak": 49}
