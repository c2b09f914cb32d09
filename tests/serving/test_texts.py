"""Comparisons kept without texts, and the data sets that are joined with them where they are the ones compared on."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from shutil import copytree

import keep
import pytest
from attacks import browser, dom, running
from starlette.testclient import TestClient

import kg2rag
from kg2rag.serving.app import application
from kg2rag.serving.library import Library
from kg2rag.serving.texts import MOST, MismatchError, Texts

ROOT = Path(__file__).resolve().parents[2]
BUNDLED = ROOT / "data" / "bundled"


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """kept: the bundled set's comparison as eval/keep.py commits it; part: of ten of its questions."""
    root, data = tmp_path_factory.mktemp("results"), kg2rag.load("bundled")
    kb = kg2rag.KnowledgeBase.build(data.corpus)
    patched = pytest.MonkeyPatch()
    patched.setattr(keep, "RESULTS", root)
    for name, one in {"kept": data, "part": data.sample(10, seed=4)}.items():
        saved = tmp_path_factory.mktemp(name)
        systems = {"bm25": kg2rag.BM25(kb), "long": kg2rag.BM25(kb, b=0.9)}
        kg2rag.compare(systems, one, metrics=["recall@5"], command="kg2rag compare", progress=False).save(saved)
        keep.main(saved, name, root)
    patched.undo()
    return root


@pytest.fixture
def sets(tmp_path: Path) -> Path:
    """A folder of two sets: another one, and the bundled one."""
    (tmp_path / "sets" / "another").mkdir(parents=True)
    (tmp_path / "sets" / "another" / "corpus.jsonl").write_text("{}\n")
    copytree(BUNDLED, tmp_path / "sets" / "ours")
    return tmp_path / "sets"


def client(root: Path, *data: Path) -> TestClient:
    return TestClient(application(root, data=data), base_url="http://127.0.0.1:8765")


def shown(pages: TestClient, address: str) -> str:
    answer = pages.get(address)
    assert answer.status_code == 200, answer.text
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", answer.text)).split())


def question_of(root: Path, name: str = "kept") -> str:
    return kg2rag.Comparison.load(root / name).rankings["bm25"][0].query_id


def test_without_data_the_page_says_what_is_missing_and_how_to_supply_it(kept: Path) -> None:
    for address in ("/comparison?at=kept", f"/question?at=kept&id={question_of(kept)}"):
        page = shown(client(kept), address)
        assert "hits have ids and scores alone, no texts, stages or paths, and no gold is marked" in page
        assert "kg2rag serve FOLDER --data DATA, DATA holding corpus.jsonl, questions.jsonl (bundled)" in page


@pytest.mark.parametrize("name", ["kept", "part"])
@pytest.mark.parametrize("above", [True, False])
def test_questions_passages_and_gold_of_the_set_are_shown(kept: Path, sets: Path, name: str, above: bool) -> None:
    pages, id_ = client(kept, sets if above else sets / "ours"), question_of(kept, name)
    data = kg2rag.load("bundled")
    question = data.question(id_)
    page = shown(pages, f"/question?at={name}&id={id_}&hits=20")
    assert question.text in page
    assert "texts and gold are read from ours; no stages or paths" in page
    assert f"gold: {', '.join(question.gold)}" in page
    first = kg2rag.Comparison.load(kept / name).rankings["bm25"][0].passage_ids[0]
    assert " ".join(data.corpus[data.corpus.row(first)].text[:80].split()) in page
    assert question.text in shown(pages, f"/questions?at={name}&order=as+asked")
    word = max(question.text.split(), key=len).strip("?.,'’s")
    assert id_ in shown(pages, f"/questions?at={name}&words={word}")
    changes = shown(pages, f"/changes?a={name}&left=bm25&right=long&id={id_}")
    assert " ".join(data.corpus[data.corpus.row(first)].text[:80].split()) in changes
    assert question.text in pages.get(f"/export?at={name}").text


def test_files_that_have_changed_are_refused_by_name_with_both_checksums(kept: Path, sets: Path) -> None:
    file = sets / "ours" / "questions.jsonl"
    file.write_text(file.read_text(encoding="utf-8").replace("Who", "Whoever", 1), encoding="utf-8")
    page = shown(client(kept, sets), f"/question?at=kept&id={question_of(kept)}")
    digest = kg2rag.Comparison.load(kept / "kept").config["data"]["source"]["files"]["questions.jsonl"]
    assert "Not joined: ours/questions.jsonl is not the file that was compared on: its sha256 is " in page
    assert f"config.json has {digest}" in page
    assert "no texts, stages or paths" in page
    copytree(BUNDLED, sets / "whole")
    assert "texts and gold are read from whole" in shown(client(kept, sets), "/comparison?at=kept")


def test_the_same_files_with_other_questions_are_refused(kept: Path, sets: Path, tmp_path: Path) -> None:
    other = copytree(kept, tmp_path / "other")
    config = json.loads((other / "kept" / "config.json").read_text())
    config["data"]["source"].update(limit=7, seed=1)
    (other / "kept" / "config.json").write_text(json.dumps(config))
    with pytest.raises(
        MismatchError, match=r"ours has other questions .* questions_sha256 is \w{64}, config\.json has"
    ):
        Texts([sets]).join(config)
    assert "Not joined: ours has other questions" in shown(client(other, sets), "/comparison?at=kept")


@pytest.mark.parametrize("outside", ["../secret.txt", "/etc/hostname", "corpus/../../secret.txt"])
def test_a_configuration_that_names_files_elsewhere_is_refused_and_they_are_not_read(
    kept: Path, sets: Path, tmp_path: Path, outside: str
) -> None:
    (tmp_path / "sets" / "secret.txt").write_text("secret")
    config = json.loads((kept / "kept" / "config.json").read_text())
    config["data"]["source"]["files"] = {outside: "0" * 64}
    with pytest.raises(MismatchError, match="which is no file in the folder of a data set") as caught:
        Texts([sets]).place(config)
    assert "sha256" not in str(caught.value)


def test_a_comparison_whose_configuration_names_no_files_stays_without(kept: Path, sets: Path, tmp_path: Path) -> None:
    other = copytree(kept, tmp_path / "other")
    config = json.loads((other / "kept" / "config.json").read_text())
    config["data"]["source"] = {"loader": "by hand"}
    (other / "kept" / "config.json").write_text(json.dumps(config))
    assert "--data" not in shown(client(other, sets), "/comparison?at=kept")
    found, lacking = Library(other, Texts([sets])).joinable()
    assert (found, lacking) == (["part"], {"kept": "its configuration names no files."})


def test_a_comparison_with_texts_of_its_own_keeps_them(saved: Path, sets: Path) -> None:
    assert "Saved without" not in shown(client(saved, sets), "/comparison?at=first")
    assert Library(saved, Texts([sets])).joinable() == ([], {})


def test_folders_that_are_none_or_hold_too_many_are_refused(
    kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(NotADirectoryError, match=r"is no folder\. Name that of a data set"):
        application(kept, data=[tmp_path / "nowhere"])
    assert MOST > 100
    monkeypatch.setattr("kg2rag.serving.texts.MOST", 1)
    for name in "ab":
        (tmp_path / "many" / name).mkdir(parents=True)
    with pytest.raises(ValueError, match="holds more than 1 folders"):
        application(kept, data=[tmp_path / "many"])


def state_of(folder: Path) -> dict[str, tuple[bytes, int]]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def test_neither_the_results_nor_the_sets_are_changed(kept: Path, sets: Path) -> None:
    before = state_of(kept), state_of(sets)
    pages = client(kept, sets)
    for address in ("/", "/comparison?at=kept", f"/question?at=kept&id={question_of(kept)}", "/export?at=part"):
        assert pages.get(address).status_code == 200
    assert (state_of(kept), state_of(sets)) == before


@browser
def test_the_texts_are_on_the_page_in_chromium(kept: Path, sets: Path, tmp_path: Path) -> None:
    id_ = question_of(kept)
    with running(application(kept, data=[sets])) as address:
        document = dom(f"{address}/question?at=kept&id={id_}&hits=5", tmp_path)
    data = kg2rag.load("bundled")
    assert data.question(id_).text in unescape(document)
    first = kg2rag.Comparison.load(kept / "kept").rankings["bm25"][0].passage_ids[0]
    assert data.corpus[data.corpus.row(first)].text[:40] in unescape(document)
