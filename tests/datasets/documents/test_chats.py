"""Chats as text: exports of WhatsApp, logs of IRC and chats of Zoom."""

from __future__ import annotations

import pytest


def text_of(documents):
    return "\n\n".join(passage.text for passage in documents.corpus)


ANDROID = """03.05.25, 18:02 - Nachrichten sind verschlüsselt.
03.05.25, 18:04 - Mira: Der Kompost wird umgesetzt.
Bringt Handschuhe mit.
03.05.25, 18:05 - Tarek Aziz: <Medien ausgeschlossen>
03.05.25, 18:06 - Tarek Aziz: Treffpunkt: das Tor. <Diese Nachricht wurde bearbeitet.>
03.05.25, 18:07 - Tarek Aziz: Diese Nachricht wurde gelöscht.
04.05.25, 09:15 - Mira: Gut.
"""
IPHONE = """[6/12/25, 7:41:03\u202fPM] Club: \u200eMessages are encrypted.\r
\u200e[6/12/25, 7:42:55\u202fPM] Ed: \u200eimage omitted\r
[6/12/25, 7:43:20\u202fPM] Ed: The library holds six copies.\r
[6/13/25, 7:43:20\u202fPM] ~\u202fAna: Fine.\r
"""
IRC = """--- Log opened Wed Jun 11 00:00:12 2025
00:01 -!- kestrel [k@host] has joined #rust
00:02 <@osprey> The borrow checker rejects it.
00:03 < kestrel> Clone it: before the loop.
00:05 <@osprey> Thanks!
"""
ZOOM = """10:02:11 From Amit Rao to Everyone:
\tThe link is in the agenda.
10:03:40 From  Lena Voss  to  Everyone : Can we move it?
10:04:02 From Amit Rao to Everyone:
\tFriday works.
"""


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        (
            ANDROID,
            [
                "03.05.25",
                "Mira: Der Kompost wird umgesetzt. Bringt Handschuhe mit.",
                "Tarek Aziz: Treffpunkt: das Tor.",
                "04.05.25",
                "Mira: Gut.",
            ],
        ),
        (
            IPHONE,
            ["6/12/25", "Ed: The library holds six copies.", "6/13/25", "Ana: Fine."],
        ),
        (
            IRC,
            [
                "osprey: The borrow checker rejects it.",
                "kestrel: Clone it: before the loop.",
                "osprey: Thanks!",
            ],
        ),
        (
            ZOOM,
            [
                "Amit Rao: The link is in the agenda.",
                "Lena Voss: Can we move it?",
                "Amit Rao: Friday works.",
            ],
        ),
    ],
)
def test_a_chat_has_its_messages_with_names_and_no_words_of_the_program(
    read, text, blocks
):
    documents = read({"chat.txt": text})
    assert documents.corpus[0].text.split("\n\n") == blocks
    report = documents.report.loc[0]
    assert report["lost"] == 0
    assert report["left_out"] > 0


@pytest.mark.parametrize(
    "text",
    [
        "[2025-06-01 10:00:00] INFO: started\n[2025-06-01 10:00:01] ERROR: full\n[2025-06-01 10:00:02] INFO: ended\n",
        "10:00 Opening: the mayor\n10:30 Talk: on moss\n12:00 Lunch: soup\n",
        "Agenda\n\n[1] Moss: a study\n[2] Fern: a study\n[3] Roof: a study\n",
    ],
)
def test_a_log_a_programme_and_a_list_are_no_chats(read, text):
    assert read({"a.txt": text}).corpus[0].text == text.strip()


@pytest.mark.parametrize(
    "line",
    ["{name}  {time}  ", "{name} ({time}):", "**{name}** {time}", "{name}   0{time}"],
)
def test_a_transcript_has_the_speakers_before_their_words(read, line):
    turns = [
        ("Ida Berg", "0:00", "The Halina leaves at noon."),
        ("Speaker 1", "0:42", "Which pier?\n\nThe northern one?"),
        ("Ida Berg", "1:05", "Yes."),
        ("Speaker 1", "1:07", "Thank you."),
    ]
    text = "".join(
        f"{line.format(name=name, time=time)}\n{spoken}\n\n"
        for name, time, spoken in turns
    )
    documents = read({"meeting.txt": text})
    assert text_of(documents).split("\n\n") == [
        "Ida Berg: The Halina leaves at noon.",
        "Speaker 1: Which pier? The northern one?",
        "Ida Berg: Yes.",
        "Speaker 1: Thank you.",
    ]
    assert documents.report["lost"].sum() == 0


def test_the_programme_of_a_day_is_no_transcript(read):
    text = "".join(
        f"{name} {time}\nIn the hall.\n\n"
        for name, time in [
            ("Opening", "9:00"),
            ("Coffee", "10:30"),
            ("Coffee", "15:30"),
        ]
    )
    assert "10:30" in text_of(read({"day.txt": text}))
