"""DokuWiki and slides of LaTeX: tags of plugins, pages without a heading, notes and titles of frames."""

HEADING = "====== Leave ======\n"


def test_tags_of_dokuwiki_s_plugins_are_no_text_and_code_stays(read):
    page = HEADING + (
        "<WRAP round tip 60%>\nAsk by **Friday**.\n</WRAP>\n<hidden Special cases>\nMoving: a day.\n</hidden>\n"
        "<code xml>\n<note>kept</note>\n</code>\n^ Kind ^ Days ^\n| Move | 1 |\n| Marry | ::: |\n\n"
        "a < b and c > d, see {{:hr:plan.pdf|the plan}}.\n"
    )
    documents = read({"a.txt": page})
    [passage] = documents.corpus
    assert passage.text == (
        "Ask by Friday.\n\nSpecial cases\n\nMoving: a day.\n\n<note>kept</note>\n\nKind | Days\n\nMove | 1\n\n"
        "Marry\n\na < b and c > d, see the plan."
    )
    assert documents.report.loc[0, "lost"] == 0


def test_a_page_of_dokuwiki_without_a_heading_is_known_by_its_folder(read):
    documents = read(
        {
            "pages/sidebar.txt": "  * [[hr:leave|Leave]]\n",
            "pages/hr/leave.txt": f"{HEADING}Ask //first//.\n",
            "notes/a.txt": "Keep [[this|as]] //it// is.",
            "notes/b.txt": "And this.",
        }
    )
    text = {passage.doc_id: passage.text for passage in documents.corpus}
    assert text == {
        "notes/a.txt": "Keep [[this|as]] //it// is.",
        "notes/b.txt": "And this.",
        "pages/hr/leave.txt": "Ask first.",
        "pages/sidebar.txt": "Leave",
    }


def test_frames_of_slides_are_headed_by_their_titles_and_notes_are_text(read):
    slides = r"""\documentclass{beamer}
\title{Pumps}
\date{\today}
\begin{document}
\begin{frame}<1->[allowframebreaks]{Flow of \emph{water}}{A look}
Valves open slowly.
\begin{alertblock}<2->{Danger}
Hot water burns.
\end{alertblock}
\note<1>[item]{Mention the old plant.}
\end{frame}
\frame{\frametitle{Summary} Keep the log.}
\end{document}
"""
    documents = read({"a.tex": slides})
    assert [passage.text for passage in documents.corpus] == [
        "Flow of water\nA look\n\nValves open slowly.\n\nDanger\n\nHot water burns.\n\nMention the old plant.",
        "Summary\nKeep the log.",
    ]
    assert documents.report.loc[0, "lost"] == 0
