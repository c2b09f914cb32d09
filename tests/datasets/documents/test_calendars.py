"""Calendars, contacts and invitations."""

from __future__ import annotations

from email.message import EmailMessage

import pytest


def test_a_calendar_has_a_document_for_each_event_of_what_a_reader_is_shown(read):
    calendar = """BEGIN:VCALENDAR
PRODID:-//Example//EN
BEGIN:VTIMEZONE
TZID:Warsaw
END:VTIMEZONE
BEGIN:VEVENT
UID:040000008200E
DTSTART;TZID="Warsaw":20261012T140000
ORGANIZER;CN=Halina:mailto:halina@example.org
SUMMARY;LANGUAGE=en:Halina sai
 ls
LOCATION:Pier 4\\, Gdynia
DESCRIPTION:Bring a coat.\\n\\nWe leave at noon.
BEGIN:VALARM
DESCRIPTION:Reminder
END:VALARM
END:VEVENT
BEGIN:VEVENT
DTSTART;VALUE=DATE:20261013
SUMMARY:Rest
DESCRIPTION:<b>No</b> work<br>at all.
END:VEVENT
END:VCALENDAR
"""
    documents = read({"a.ics": calendar.replace("\n", "\r\n")})
    assert [(p.id, p.title, p.text) for p in documents.corpus] == [
        (
            "a.ics#0",
            "Halina sails",
            "Start: 2026-10-12 14:00\nOrganizer: Halina\nLocation: Pier 4, Gdynia\n\n"
            "Bring a coat.\n\nWe leave at noon.",
        ),
        ("a.ics#1", "Rest", "Start: 2026-10-13\n\nNo work\n\nat all."),
    ]
    assert documents.report["lost"].sum() == 0


def test_contacts_are_documents_and_their_letters_may_be_bytes(read):
    contacts = """BEGIN:VCARD
VERSION:2.1
FN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:J=C3=BCrgen=
=20Maier
item1.TEL;TYPE=WORK:+49 30 123
ORG:Werft Nord;Einkauf
NOTE;ENCODING=QUOTED-PRINTABLE:Zust=C3=A4ndig f=C3=BCr=0D=0A=
Schrauben.
END:VCARD
"""
    [contact] = read({"a.vcf": contacts}).corpus
    assert contact.title == "Jürgen Maier"
    assert (
        contact.text
        == "Tel: +49 30 123\nOrg: Werft Nord, Einkauf\n\nZuständig für\nSchrauben."
    )


@pytest.mark.parametrize("text", ["Bring a coat.", ""])
def test_a_message_with_an_invitation_has_its_text_once_and_the_times(read, text):
    event = """BEGIN:VCALENDAR
BEGIN:VEVENT
UID:7F
SUMMARY:Halina sails
DTSTART:20261012T140000Z
DESCRIPTION:Bring a coat.
END:VEVENT
END:VCALENDAR
"""
    message = EmailMessage()
    message["Subject"] = "Halina sails"
    message.set_content(text)
    message.add_alternative(event, subtype="calendar")
    [passage] = read({"a.eml": message.as_bytes()}).corpus
    assert passage.text.count("Bring a coat.") == 1
    assert "Start: 2026-10-12 14:00" in passage.text
    assert "UID" not in passage.text
