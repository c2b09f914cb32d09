"""Commands that pandoc does not know: their arguments are text if they have words, and titles of boxes are."""

from __future__ import annotations

from kg2rag.datasets.documents.markup.latex_commands import with_shown_arguments


def text_of(documents):
    return "\n\n".join(passage.text for passage in documents.corpus)


def test_arguments_of_unknown_commands_are_text_and_settings_are_not(read):
    source = r"""\documentclass{moderncv}
\usepackage{xparse}
\NewDocumentCommand{\keyterm}{m}{\textsc{#1}}
\hypersetup{pdftitle={Some Title}}
\begin{document}
\section{Posts}
\cventry{2001--2003}{Chief botanist}{Kew}{}{}{Grew \plant{royal fern}.}

A \keyterm{fen} has \color{red}\fontsize{12}{14}\selectfont sedges\index{sedge meadow}.
\end{document}
"""
    (passage,) = read({"cv.tex": source}).corpus
    assert passage.text == (
        "2001–2003 Chief botanist Kew Grew royal fern.\n\nA fen has sedges."
    )


def test_a_command_whose_arguments_are_single_words_stays():
    text = r"\begin{document}\faIcon{github} \mail{ada}\end{document}"
    messages = r"[INFO] Skipped '\faIcon{github}' at line 1 column 9"
    assert with_shown_arguments(text, messages) == text


def test_titles_of_boxes_and_captions_of_algorithms_and_listings_are_text(read):
    source = r"""\documentclass{article}
\begin{document}
\begin{tcolorbox}[colback=red,title={Mind the bog}]
Keep to the path.
\end{tcolorbox}
\begin{algorithm}[t]
\caption{Counting herons}
Look north.
\end{algorithm}
\begin{lstlisting}[language=C, caption=Heron loop]
int heron;
\end{lstlisting}
\end{document}
"""
    (passage,) = read({"walk.tex": source}).corpus
    assert passage.text == (
        "Mind the bog\n\nKeep to the path.\n\nCounting herons\n\nLook north.\n\nHeron loop\n\nint heron;"
    )
