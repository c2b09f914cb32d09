"""Notes of Joplin, Logseq and Obsidian."""

from __future__ import annotations

import pytest
from file_makers import passages_of


def test_notes_of_joplin_have_their_first_line_as_title_and_notebooks_are_no_documents(
    read,
):
    fields = "id: {}\nparent_id: \nis_todo: 0\ntype_: {}"
    note = "Tides\n\nNoon is high.\n\n" + fields.format("0" * 32, 1)
    notebook = "Harbour\n\n" + fields.format("1" * 32, 2)
    documents = read({"a.md": note, "b.md": notebook})
    assert passages_of(documents) == {"a.md": ("Tides", "Noon is high.")}


def test_settings_of_logseq_are_no_text_and_its_title_and_names_are_of_the_page(read):
    page = (
        "title:: Harbour/Rules\nalias:: Pier law\n\n- # Tides\n  collapsed:: true\n"
        "\t- Noon is high.\n\t  id:: 65a1b2c3-1111-2222-3333-444455556666\n"
        "\t- ((65a1b2c3-1111-2222-3333-444455556666))\n\t- {{query (todo)}}\n"
    )
    link = "See [[Pier law]].\n"
    documents = read({"pages/a.md": page, "b.md": link})
    passages = {passage.doc_id: passage for passage in documents.corpus}
    assert passages["pages/a.md"].title == "Harbour/Rules"
    assert passages["pages/a.md"].text == "Tides\nPier law\n\nNoon is high."
    assert passages["b.md"].metadata["links"] == [["Pier law", "pages/a.md"]]


@pytest.mark.parametrize("settings", [".obsidian/app.json", "logseq/config.edn"])
def test_a_note_of_a_vault_is_named_by_its_file_unless_it_has_a_title(read, settings):
    text = "## Noon\n\nThe tide is high.\n"
    documents = read(
        {
            f"vault/{settings}": "{}",
            "vault/sea/Tides.md": text,
            "vault/Lock.md": f"# Great lock\n\n{text}",
            "vault/Pier.md": f"---\ntitle: Long pier\n---\n\n{text}",
            "Beside.md": f"{text}\nThe lock is full.\n",
        }
    )
    titles = {passage.doc_id: passage.title for passage in documents.corpus}
    assert titles == {
        "vault/sea/Tides.md": "Tides",
        "vault/Lock.md": "Great lock",
        "vault/Pier.md": "Long pier",
        "Beside.md": "Noon",
    }
    texts = {passage.doc_id: passage.text for passage in documents.corpus}
    assert texts["vault/sea/Tides.md"] == "Noon\nThe tide is high."
