"""Signatures, keys and encrypted texts in letters are no text of mail and of plain files."""

from __future__ import annotations

from email.message import EmailMessage

import pytest

SIGNATURE = "-----BEGIN PGP SIGNATURE-----\nVersion: GnuPG v2\n\niQEcBAEB/qwe\n=Q7dP\n-----END PGP SIGNATURE-----\n"
SIGNED = (
    "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA1\n\nThe crane is mended.\n\n"
    f"- - oil\n- - rope\n\n- -- \nIda Lund\n{SIGNATURE}\nBelow the signature.\n"
)


def armour(kind):
    return f"-----BEGIN {kind}-----\n\nhQEMA1yWcD/qwe\n=Q7dP\n-----END {kind}-----\n"


@pytest.fixture
def text_of(read):
    """The text of a file without a mail's header, and its row of the report."""

    def text(name, content):
        if name.endswith(".eml"):
            message = EmailMessage()
            message["From"] = "Ida <ida@example.org>"
            message["Subject"] = "Crane"
            message.set_content(content)
            content = message.as_bytes()
        documents = read({name: content, "other.txt": "Another text."})
        passages = [p.text for p in documents.corpus if p.doc_id == name]
        report = documents.report.set_index("document").loc[name]
        return "\n\n".join(passages).removeprefix(
            "From: Ida <ida@example.org>\n\n"
        ), report

    return text


def test_a_signed_text_is_as_it_was_written_and_its_armour_is_counted(text_of):
    text, report = text_of("a.txt", SIGNED)
    assert text == (
        "The crane is mended.\n\n- oil\n- rope\n\n-- \nIda Lund\n\nBelow the signature."
    )
    assert report["lost"] == 0
    assert report["left_out"] > len("BEGIN PGP SIGNED MESSAGE Hash SHA1".split())


def test_the_signature_of_a_signed_letter_is_no_text(text_of):
    text, report = text_of("a.eml", SIGNED)
    assert text == "The crane is mended.\n\n- oil\n- rope"
    assert report["lost"] == 0


@pytest.mark.parametrize("name", ["a.txt", "a.eml"])
@pytest.mark.parametrize("mark", ["", "> "])
@pytest.mark.parametrize(
    ("kind", "is_told"),
    [
        ("PGP MESSAGE", True),
        ("PKCS7", True),
        ("PGP PUBLIC KEY BLOCK", False),
        ("CERTIFICATE", False),
    ],
)
def test_base64_is_no_text_and_encrypted_texts_are_told(
    text_of, name, mark, kind, is_told
):
    lines = "".join(mark + line for line in armour(kind).splitlines(keepends=True))
    text, report = text_of(name, f"See below.\n\n{lines}\nAnd above.\n")
    assert "hQEM" not in text
    assert "See below." in text
    assert "And above." in text
    assert report["lost"] == 0
    assert bool(report["remark"]) == is_told


@pytest.mark.parametrize(
    "text",
    [
        "Put it below\n-----BEGIN PGP MESSAGE-----\nand that is all.",
        "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA1\n\n- - oil",
        "-----BEGIN NOTES-----\nThe crane, again.\n-----END NOTES-----",
    ],
)
def test_other_lines_between_dashes_are_text(text_of, text):
    assert text_of("a.txt", text)[0] == text
