"""Wikis of DokuWiki and Azure DevOps, and slides of LaTeX: what their pages show, and nothing else."""

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


def test_a_wiki_of_azure_devops_has_titles_of_its_names_and_no_marks(read):
    page = (
        "[[_TOC_]]\n\nSee [the rota](/Ops/On%2Dcall.md) and `[x](a.png =3x)`.\n\n::: mermaid\ngraph LR;\n"
        "  dev --> main\n:::\n\n::: query-table 6ff7777e-8ca5-4f04-a7f6-9e63737dddf7\n:::\n\n"
        "Cut on Friday.\n![a](/.attachments/a-1.png =600x) Done by @<8C8C7D32-6B1B-47F4-B2E9-30B477B5AB3D>\n\n"
        "[[_TOSP_]]\n"
    )
    documents = read({"Q%26A-%2D-Ops.md": page, "Ops/On%2Dcall.md": "Call now."})
    [rota, passage] = documents.corpus
    assert (rota.title, passage.title) == ("On-call", "Q&A - Ops")
    assert passage.text == (
        "See the rota and [x](a.png =3x).\n\ngraph LR;\n  dev --> main\n\nCut on Friday. Done by"
    )
    assert passage.metadata["links"] == [["the rota", "Ops/On%2Dcall.md"]]
    assert documents.report["lost"].tolist() == [0, 0]


def test_a_name_with_half_of_an_escaped_sign_stays(read):
    [passage] = read({"caf%C3-100%.md": "Nine crowns."}).corpus
    assert passage.title == "caf%C3 100%"


def test_marks_that_no_reader_knows_are_told_unless_they_are_few_or_code(read):
    documents = read(
        {
            "a.txt": "See [[Harbour]] and [[Dock|the dock]].\n\n{{ferry}} sails.",
            "b.txt": "See [[Harbour]] once.",
            "c.md": "```\n[[a]] {{b}} {% c %}\n```\nIts rows are [[1]], [[2]] and [[3]].",
        }
    )
    remarks = documents.report.set_index("document")["remark"]
    assert "3" in remarks["a.txt"]
    assert "[[Harbour]]" in remarks["a.txt"]
    assert (remarks["b.txt"], remarks["c.md"]) == ("", "")


TABLE = r"""
\begin{document}
\section{Fares}
\begin{table}[ht]
\begin{tabular}{l|r@{\hspace{2pt}}p{3cm}}
\toprule
Season & \multicolumn{2}{c}{Crowns} \\
\cmidrule(lr){2-3}
\multirow{2}{*}{Winter} & 9 & adults \\
 & 4 & children \\
\bottomrule
\end{tabular}
\end{table}
\begin{longtable}{ll}
Ship & Kind \\ \hline \endhead
Halina & ferry \\
\end{longtable}
\end{document}
"""


def test_a_table_of_latex_has_its_cells_and_no_lost_words(read):
    documents = read({"a.tex": TABLE})
    text = "\n".join(passage.text for passage in documents.corpus)
    assert "Season | Crowns" in text
    assert "Winter | 9 | adults" in text
    assert "2-3" not in text
    assert documents.report["lost"].sum() == 0


BOXES = r"""
\documentclass{article}
\begin{document}
\section{Fares}
\noindent {\it Winter} is cold. \rotatebox[origin=c]{90}{Ice} \fbox{Stay ashore}
\begin{table}
\resizebox{\textwidth}{!}{\begin{tabular}{ll} Halina & \textbf{ferry} \\ \end{tabular}}
\caption{Ships}
\end{table}
\begin{wrapfigure}[3]{r}{5cm}\includegraphics{x}\caption{The pier}\end{wrapfigure}
\begin{multicols}{2} Two columns. \end{multicols}
\end{document}
"""


def test_boxes_of_latex_and_groups_behind_commands_keep_their_words(read):
    documents = read({"a.tex": BOXES})
    words = " ".join(passage.text for passage in documents.corpus).split()
    expected = (
        "Winter is cold. Ice Stay ashore Ships Halina | ferry The pier Two columns."
    )
    assert words[-14:] == expected.split()
    assert documents.report["lost"].sum() == 0


def test_the_number_of_a_note_is_no_code(read):
    page = "# Setup\n\n``` yaml\nplugins:\n  - search # (1)!\n```\n\n1.  Turns on the search.\n"
    documents = read({"a.md": page})
    [passage] = documents.corpus
    assert passage.text == "plugins:\n  - search\n\nTurns on the search."
    assert documents.report["lost"].sum() == 0


INFOBOX = """{{Infobox ship
| name = MS Halina
| image = Halina at pier.jpg
| builder = [[Yard (Danzig)|Danzig Yard]]
| launched = {{start date|1931|5|2}}
| owner =
}}
The '''Halina''' is a ferry.{{sfn|Lund|2010}} She was built in {{circa|1930}}.
{{Reflist|30em}}
"""


def test_the_fields_of_an_infobox_and_the_words_of_templates_are_text(read):
    documents = read({"a.mediawiki": INFOBOX})
    [passage] = documents.corpus
    assert passage.text.split("\n\n") == [
        "name: MS Halina",
        "builder: Danzig Yard",
        "launched: 1931 5 2",
        "The Halina is a ferry. She was built in 1930.",
    ]
    assert documents.report["lost"].sum() == len("sfn Lund 2010 Reflist 30em".split())


def test_listings_numbers_and_quotations_of_wikis_are_text(read):
    page = (
        "== See ==\n* {{see\n| name=Old kiln | url=\n| content=It is warm.\n}}\n"
        "Mean {{formatnum:48310}} {{lc:TONS}}.\n\n"
        "{{quote|The sea took the old pier away|Ann}}\n\n{{main|History of Lund}}\nEnd.\n"
    )
    (passage,) = read({"a.mediawiki": page}).corpus
    assert passage.text == (
        "name: Old kiln\n\ncontent: It is warm.\n\nMean 48310 TONS.\n\nThe sea took the old pier away\n\nEnd."
    )


def test_notes_at_the_end_of_an_article_are_text_and_preambles_of_formulas_are_not(
    read,
):
    formula = r"\documentclass[12pt]{minimal} \usepackage{amsmath} \begin{document}$$x^2$$\end{document}"
    article = (
        '<?xml version="1.0"?><article><front><article-meta><title-group><article-title>Owls</article-title>'
        "</title-group></article-meta></front><body><sec><title>Barn</title><p>It is warm.</p><disp-formula>"
        f"<tex-math>{formula}</tex-math></disp-formula></sec></body><back><fn-group><fn><label>1</label>"
        "<p>Paid by Lund.</p></fn></fn-group></back></article>"
    )
    text = "\n".join(passage.text for passage in read({"a.nxml": article}).corpus)
    assert "Paid by Lund." in text
    assert "x2" in text
    assert "usepackage" not in text


def test_titles_and_steps_of_docbook_are_text_and_its_index_is_not(read):
    book = (
        '<book xmlns="http://docbook.org/ns/docbook" version="5.0"><info><title>Owls</title></info><chapter>'
        "<title>Barn</title><indexterm><primary>tyto</primary></indexterm><procedure><title>Feeding</title>"
        "<step><para>Open it.</para><substeps><step><para>Go in.</para></step></substeps></step></procedure>"
        "<variablelist><title>Parts</title><varlistentry><term>Wing</term><listitem><para>Wide.</para></listitem>"
        "</varlistentry></variablelist></chapter></book>"
    )
    (passage,) = read({"a.xml": book}).corpus
    assert passage.text == (
        "Barn\nFeeding\n\nOpen it.\n\nGo in.\n\nParts\n\nWing\n\nWide."
    )
