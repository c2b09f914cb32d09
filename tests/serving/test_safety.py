"""What the server refuses, what it says to browsers, and that it changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from kg2rag.serving import folders
from kg2rag.serving.app import application
from kg2rag.serving.guard import POLICY, REPORT_POLICY

Opened = Callable[[Path], TestClient]
ADDRESSES = (
    "/",
    "/comparison?at=first",
    "/questions?at=first",
    "/question?at=first&id=q2",
    "/export?at=first",
    "/export?at=first&as=trec&system=left",
    "/changes?a=first&id=q2",
    "/beside?at=first&at=group/second",
    "/sweep?at=sweeps/tiny",
    "/report?at=first",
    "/style.css",
)


def state(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Path -> the bytes of a file and when it was changed."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def test_more_folders_than_are_looked_into_are_refused_and_not_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abc":
        (tmp_path / name).mkdir()
    monkeypatch.setattr(folders, "MOST", 4)
    assert folders.find(tmp_path) == {}
    monkeypatch.setattr(folders, "MOST", 3)
    with pytest.raises(ValueError, match="holds more than 3 folders"):
        folders.find(tmp_path)


def test_no_page_changes_a_byte_of_the_folder(copied: Path, opened: Opened) -> None:
    before = state(copied)
    client = opened(copied)
    assert [client.get(address).status_code for address in ADDRESSES] == [200] * len(ADDRESSES)
    assert state(copied) == before


def test_a_folder_that_cannot_be_written_is_shown(copied: Path, opened: Opened) -> None:
    folders = [copied, *(path for path in copied.rglob("*") if path.is_dir())]
    for path in copied.rglob("*"):
        if path.is_file():
            path.chmod(0o444)
    for folder in folders:
        folder.chmod(0o555)
    try:
        client = opened(copied)
        assert [client.get(address).status_code for address in ADDRESSES] == [200] * len(ADDRESSES)
    finally:
        for folder in folders:
            folder.chmod(0o755)


@pytest.mark.parametrize("address", [*ADDRESSES, "/nowhere", "/comparison?at=../..", "/questions?at=first&metric=x"])
def test_every_answer_has_the_strict_policy(pages: TestClient, address: str) -> None:
    headers = pages.get(address).headers
    assert headers["content-security-policy"] == (REPORT_POLICY if address.startswith("/report") else POLICY)
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "access-control-allow-origin" not in headers


def test_the_policy_allows_no_script_and_nothing_of_another_host() -> None:
    for policy in (POLICY, REPORT_POLICY):
        rules = dict(rule.strip().partition(" ")[::2] for rule in policy.split(";"))
        assert rules["default-src"] == "'none'"
        assert "script-src" not in rules
        assert not [rule for rule in rules.values() if "http" in rule or "*" in rule]


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:8765", "localhost:1", "LOCALHOST", "[::1]:8765", "localhost."]
)
def test_this_machine_is_answered_by_its_own_names(pages: TestClient, host: str) -> None:
    assert pages.get("/", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8765",
        "127.0.0.1.evil.example",
        "localhost@evil.example",
        "192.168.0.7",
        "",
        "[::1",
    ],
)
def test_a_name_that_another_site_can_point_here_is_refused(pages: TestClient, host: str) -> None:
    answer = pages.get("/", headers={"host": host})
    assert answer.status_code == 421
    assert "tiny" not in answer.text
    assert answer.headers["content-security-policy"] == POLICY


def test_beyond_this_machine_addresses_in_numbers_are_answered_and_strange_names_are_not(saved: Path) -> None:
    client = TestClient(application(saved, names=("lab.example",), addresses=True), base_url="http://lab.example")
    given = {"lab.example:80": 200, "192.168.0.7:8765": 200, "[fe80::1]": 200, "evil.example": 421}
    assert {host: client.get("/", headers={"host": host}).status_code for host in given} == given


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nothing_but_reading_is_answered(pages: TestClient, method: str) -> None:
    assert pages.request(method, "/").status_code == 405


@pytest.mark.parametrize(
    "at",
    [
        "..",
        "../",
        "/etc",
        "first/..",
        "first/../first",
        "./first",
        "first/",
        "%2e%2e",
        "",
        ".",
        "first\x00",
        "first/runs",
    ],
)
def test_no_path_leads_out_of_the_folder_or_to_what_is_not_saved_there(pages: TestClient, at: str) -> None:
    for page in ("comparison", "questions", "question", "export", "sweep", "report", "beside"):
        assert pages.get(f"/{page}", params={"at": at}).status_code in (400, 404)


@pytest.mark.parametrize("name", ["report.html", "scores.csv", "runs/left.trec", "config.json"])
def test_a_link_that_leads_out_of_the_folder_is_not_followed(
    copied: Path, tmp_path: Path, opened: Opened, name: str
) -> None:
    file, secret = copied / "first" / name, tmp_path / "secret"
    secret.write_bytes(file.read_bytes() + b"secret-words")
    file.unlink()
    file.symlink_to(secret)
    client = opened(copied)
    for address in ("/", "/comparison?at=first", "/report?at=first", "/export?at=first&as=trec&system=left"):
        assert "secret-words" not in client.get(address).text
    assert "is a link that leads out of the folder" in client.get("/comparison?at=first").text


def test_a_linked_folder_is_not_looked_into(copied: Path, tmp_path: Path, opened: Opened) -> None:
    (copied / "first").rename(tmp_path / "elsewhere")
    (copied / "first").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    assert "2 saved folders" in opened(copied).get("/").text
    assert opened(copied).get("/comparison?at=first").status_code == 404


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        *(("first", name) for name in ("scores.csv", "per_query.parquet", "runs/left.trec", "first_hits.parquet")),
        *(("first", name) for name in ("qrels.trec", "curve.csv", "config.json")),
        *(("sweeps/tiny", name) for name in ("results.parquet", "timings.csv", "sweep.json")),
    ],
)
def test_a_damaged_folder_is_named_and_the_rest_is_shown(copied: Path, opened: Opened, folder: str, name: str) -> None:
    file = copied / folder / name
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2] + b"\x00\xff" + content[len(content) // 2 + 2 :])
    client = opened(copied)
    page = client.get("/")
    assert page.status_code == 200
    assert page.text.count("Cannot be opened.") == 1
    assert f"{folder}/{name}" in page.text or Path(name).name in page.text
    kind = "sweep" if folder.startswith("sweeps") else "comparison"
    assert client.get(f"/{kind}?at={folder}").status_code == 422
    assert client.get("/comparison?at=group/second").status_code == 200


def test_an_unfinished_comparison_is_named_as_such(copied: Path, opened: Opened) -> None:
    (copied / "first" / "config.json").unlink()
    assert "first has no finished comparison: config.json is missing" in opened(copied).get("/").text


def test_the_configuration_of_another_program_is_left_out(copied: Path, opened: Opened) -> None:
    for name, content in (("model", '{"hidden_size": 384}'), ("list", "[1]"), ("broken", "{")):
        (copied / name).mkdir()
        (copied / name / "config.json").write_text(content)
    assert "3 saved folders" in opened(copied).get("/").text


def test_what_is_saved_anew_is_shown_anew(copied: Path, opened: Opened) -> None:
    client = opened(copied)
    assert "<option>other</option>" not in client.get("/changes?a=first").text
    for file in (copied / "group" / "second").rglob("*.*"):
        file.replace(copied / "first" / file.relative_to(copied / "group" / "second"))
    assert "<option>other</option>" in client.get("/changes?a=first").text.replace(" selected", "")


def test_a_root_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotADirectoryError, match=r"is no folder\. Name one that holds saved comparisons"):
        application(tmp_path / "nowhere")


def test_an_empty_folder_says_how_to_fill_it(tmp_path: Path, opened: Opened) -> None:
    assert "kg2rag compare SET --out FOLDER" in opened(tmp_path).get("/").text
