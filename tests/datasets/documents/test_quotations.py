"""Words that a message quotes from another one of its mailbox stand once; others stay."""

from __future__ import annotations

import io
import mailbox
import zipfile
from email.message import EmailMessage

import pytest


def letter(number, text, *, answers="", subject="Pier", html=""):
    """A message of the hour `number`."""
    message = EmailMessage()
    message["From"] = f"Writer {number} <w{number}@example.org>"
    message["Subject"] = subject
    message["Date"] = f"Mon, 02 Mar 2026 {number:02}:00:00 +0100"
    message["Message-ID"] = f"<{number}@x>"
    if answers:
        message["In-Reply-To"] = f"<{answers}@x>"
    message.set_content(text)
    if html:
        message.add_alternative(html, subtype="html")
    return message


@pytest.fixture
def bodies(read, tmp_path):
    """The report of a mailbox, and the texts of its messages without their headers."""

    def read_box(*letters):
        box = mailbox.mbox(tmp_path / "made.mbox")
        for message in letters:
            box.add(message)
        box.close()
        documents = read({"a.mbox": (tmp_path / "made.mbox").read_bytes()})
        texts = {}
        for passage in documents.corpus:
            head, _, body = passage.text.partition("\n\n")
            assert head.startswith("From: ")
            texts[passage.doc_id.partition("#")[2]] = body
        return documents.report.loc[0], texts

    return read_box


QUESTION = "Hello all,\n\nwho can mend the long crane at the pier before the summer feast?\n\n-- \nWriter 1\nTel. 123\n"


@pytest.mark.parametrize(
    "answer",
    [
        "Lund can.\n\nOn Mon, 2 Mar 2026 at 01:00, Writer 1\n<w1@example.org> wrote:\n> Hello all,\n>\n> who can mend "
        "the long crane\n> at the pier before the summer feast?\n>\n> --\n> Writer 1\n> Tel. 123\n",
        "Lund can.\n\n-----Original Message-----\nFrom: Writer 1\nSent: Monday, 2 March 2026 01:00\nTo: all\n"
        "Subject: Pier\n\nHello all,\n\nwho can mend the long crane at the pier before the summer feast?\n",
        "Lund can.\n\n____________________\nVon: Writer 1 <w1@example.org>\nGesendet: Montag, 2. März 2026\n"
        "An: alle\nBetreff: Pier\n\nHello all,\n\nwho can mend the long crane at the pier before the summer feast?\n",
        "Lund can.\n\nW dniu 2.03.2026 o 01:00, Writer 1 pisze:\n> who can mend the long crane at the pier before the "
        "summer feast?\n",
    ],
)  # fmt: skip
def test_a_quoted_message_and_the_line_of_its_writer_are_left_out_and_counted(
    bodies, answer
):
    report, texts = bodies(letter(1, QUESTION), letter(2, answer, answers="1"))
    assert texts == {
        "0": "Hello all,\n\nwho can mend the long crane at the pier before the summer feast?",
        "1": "Lund can.",
    }
    assert report["lost"] == 0
    assert report["left_out"] > 10


def test_a_quotation_of_a_page_is_left_out(bodies):
    page = (
        "<div>Lund can, and he knows how to do it in one day or so.</div><div class=gmail_quote><div class=gmail_attr>"
        "On Mon, 2 Mar 2026 at 01:00, Writer 1 wrote:<br></div><blockquote>Hello all,<br><br>who can mend the long "
        "crane at the pier before the summer feast?<br></blockquote></div>"
    )
    _, texts = bodies(letter(1, QUESTION), letter(2, "x", answers="1", html=page))
    assert texts["1"] == "Lund can, and he knows how to do it in one day or so."


def test_answers_between_quoted_lines_and_words_of_no_other_message_stay(bodies):
    answer = (
        "On 2 Mar 2026, Writer 1 wrote:\n> who can mend the long crane at the pier before the summer feast?\nLund.\n"
        "> And who paints it in green?\nIda.\n"
    )
    _, texts = bodies(letter(1, QUESTION), letter(2, answer, answers="1"))
    assert texts["1"] == "Lund.\n> And who paints it in green?\nIda."


def test_a_quotation_stays_if_its_message_is_in_no_mailbox(bodies):
    answer = (
        "Lund can.\n\nOn 2 Mar 2026, Writer 9 wrote:\n> who can mend the long crane?\n"
    )
    _, texts = bodies(letter(2, answer, answers="9"), letter(3, "Mud.", subject="Low"))
    assert texts["0"] == answer.strip()


def test_of_two_messages_that_quote_a_third_the_earlier_has_its_words(bodies):
    quotation = "\n\nOn 2 Mar 2026, Writer 9 wrote:\n> who can mend the long crane at the pier?\n"
    _, texts = bodies(
        letter(3, f"Ida can.{quotation}", subject="Re: Pier"),
        letter(2, f"Lund can.{quotation}", subject="AW: Pier"),
    )
    assert texts["0"] == "Ida can."
    assert texts["1"] == f"Lund can.{quotation}".strip()


def test_a_signature_ends_before_a_quotation_and_a_long_text_is_none(bodies):
    first = "Mud.\n\n-- \nWriter 1\n\nOn 2 Mar 2026, Writer 9 wrote:\n> who can mend the long crane?\n"
    second = "Low.\n\n-- \n" + "".join(
        f"Line {number} of it.\n" for number in range(30)
    )
    report, texts = bodies(letter(1, first), letter(2, second, subject="Low"))
    assert texts["0"] == (
        "Mud.\n\nOn 2 Mar 2026, Writer 9 wrote:\n> who can mend the long crane?"
    )
    assert "Line 29 of it." in texts["1"]
    assert report["lost"] == 0


def test_a_message_in_a_file_is_read_without_what_it_quotes_from_another_file(read):
    answer = (
        "Lund can.\n\nOn Mon, 2 Mar 2026 at 01:00, Writer 1 wrote:\n"
        "> who can mend the long crane at the pier?\n"
    )
    other = (
        "See below.\n\n---------- Forwarded message ---------\nFrom: Ida\n"
        "Date: Mon, 2 Mar 2026\nSubject: Oil\n\nFrom here on the oil is in hut 9.\n"
    )
    question = letter(1, "who can mend the long crane at the pier?\n")
    files = {
        "1.eml": bytes(question),
        "copy of 1.eml": bytes(question),
        "2.eml": bytes(letter(2, answer, answers="1", subject="Re: Pier")),
        "3.eml": bytes(letter(3, other, subject="Fwd: Oil")),
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, message in files.items():
            archive.writestr(name, message.replace(b"hut 9", b"hut 8"))
    documents = read({**files, "old/mail.zip": packed.getvalue()})
    texts = {
        passage.doc_id: passage.text.partition("\n\n")[2]
        for passage in documents.corpus
    }
    assert texts.keys() == {"1.eml", "2.eml", "3.eml", "old/mail.zip/3.eml"}
    assert texts["2.eml"] == "Lund can."
    assert texts["3.eml"].endswith("From here on the oil is in hut 9.")
    assert documents.report["lost"].sum() == 0


def test_what_a_mail_program_hides_is_left_out_and_counted(read):
    page = '<body><div style="display: none">This week in your post &zwnj;</div><p>The pier is mended.</p></body>'
    message = letter(1, "The pier is mended.")
    message.set_content(page, subtype="html")
    documents = read({"a.eml": bytes(message)})
    assert documents.corpus[0].text.endswith("\n\nThe pier is mended.")
    report = documents.report.loc[0]
    assert report["left_out"] == len(["This", "week", "in", "your", "post"])
    assert report["lost"] == 0
