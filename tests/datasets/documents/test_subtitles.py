"""Subtitles with their times on one line or in a table, repeated captions, and running heads of RTF."""

from __future__ import annotations

ASS = """[Script Info]
Title: Ferry

[V4+ Styles]
Format: Name, Fontname
Style: Default,Arial

[Events]
Format: Layer, Start, End, Style, Name, Text
Dialogue: 0,0:00:01.00,0:00:03.00,Default,Guide,{\\an8}The ferry, says Ida,\\Nleaves at noon.
Comment: 0,0:00:03.00,0:00:04.00,Default,,check this
Dialogue: 0,0:00:04.00,0:00:06.00,Default,,Nobody {\\i1}waits{\\i0}.
"""
SBV = """0:00:00.599,0:00:04.160
The heron stands in the reeds
and waits.

0:00:04.160,0:00:06.770
It never moves.
"""
RTF = r"{\rtf1\ansi{\header\pard For {\b members} only\par}\pard The mill is {\i sold}.\par}"


def test_subtitles_have_their_sentences_and_no_settings(read):
    documents = read({"a.ass": ASS, "b.sbv": SBV})
    assert [passage.text.split("\n\n") for passage in documents.corpus] == [
        ["Guide: The ferry, says Ida, leaves at noon.", "Nobody waits."],
        ["The heron stands in the reeds and waits.", "It never moves."],
    ]
    assert list(documents.report["lost"]) == [0, 0]


def test_a_running_head_of_rtf_is_left_out_and_counted(read):
    documents = read({"a.rtf": RTF})
    assert documents.corpus[0].text == "The mill is sold."
    assert list(documents.report.loc[0, ["left_out", "lost"]]) == [3, 0]


def test_captions_that_repeat_the_line_before_are_read_once(read):
    captions = (
        "WEBVTT\n\nNOTE by machine\n\n00:00.000 --> 00:02.000\n \nhalina<00:01.000><c> sails</c>\n\n"
        "00:02.000 --> 00:02.010\nhalina sails\n \n\n"
        "00:02.010 --> 00:04.000\nhalina sails\nat<00:03.000><c> noon</c>\n\n"
        "00:04.000 --> 00:04.010\nat noon\n \n\n"
    )
    documents = read({"a.vtt": captions})
    assert documents.corpus[0].text == "halina sails at noon"
    assert documents.report.loc[0, "lost"] == 0
