"""Documents in a folder, a list or a table -> `Documents`: passages of the encoder's length, and a report.

The metadata of a passage has its `file`, its `headings`, its `page` in files with pages, and `links`
to other documents. Passages of one `doc_id` are ordered by `position`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from kg2rag.compute import Store
from kg2rag.compute.outputs import is_output
from kg2rag.compute.parallel import progress_bar
from kg2rag.datasets.documents.collection import Documents, collect
from kg2rag.datasets.documents.inclusion import Inclusions
from kg2rag.datasets.documents.listing import ListedFile, list_folder
from kg2rag.datasets.documents.messages.mail import MailThreads
from kg2rag.datasets.documents.passages.entries import FileEntry, record_rows
from kg2rag.datasets.documents.passages.splitting import Splitter
from kg2rag.datasets.documents.readers import ENDINGS
from kg2rag.datasets.documents.reading import (
    FileBytes,
    is_table,
    read_bytes,
    read_entry,
)
from kg2rag.datasets.documents.records.tables import read_table, with_texts
from kg2rag.datasets.documents.renditions import remove_renditions
from kg2rag.datasets.documents.unpacking import read_files
from kg2rag.datasets.documents.wiki_folders import (
    dokuwiki_files,
    named_notes,
    wiki_titles,
    with_page_first,
)
from kg2rag.types import corpus_of

TOKENS = 200
"""Default length of a passage: all-MiniLM-L6-v2 reads 256 tokens, title and headings take some 30."""
BATCH_FILES = 200
BATCH_BYTES = 32_000_000
"""Largest batch of files that are read and stored together."""


def from_folder(
    path: str | Path,
    *,
    tokens: int = TOKENS,
    name: str | None = None,
    store: Store | None = None,
    leave_out: str | Path | None = None,
) -> Documents:
    """The documents of a folder and of all folders below it, or of one file.

    Documents are Markdown, HTML, plain text, PDF, Word, PowerPoint, OpenDocument, EPUB, notebooks,
    mail, XML, subtitles, and light markup (reStructuredText, Org, LaTeX, AsciiDoc …); a record of a
    table (.jsonl, .csv, .tsv, .parquet, .json, .yaml) is one. Archives and spreadsheets are read as
    folders. Any other file that is text is read as plain text. What is in the store is not read
    again: an interrupted reading goes on, and of changed files only those are read.

    A file that cannot be read is skipped, and `report` says why; so are files that kg2rag wrote,
    files that others include (chapters of LaTeX, snippets of Markdown), files with the words of
    another one of their name (a page beside its source), links that lead out of the folder and
    folders of installed packages. `report` counts the words of a file that no passage has.

    Parameters
    ----------
    tokens : the longest passage, without title and headings; less than the encoder reads.
    name : the name of the set in results; by default that of the folder.
    store : where the passages of a file are kept; by default the usual store.
    leave_out : a file that is no document, such as the one with the questions.

    Raises FileNotFoundError: no such folder; ImportError: the extra `documents` is not installed;
    ValueError: no text in any file.
    """
    root = Path(path).expanduser()
    if not root.exists():
        raise FileNotFoundError(
            f"{root} does not exist. Give a folder of documents: {', '.join(ENDINGS)}."
        )
    if not root.is_dir() and is_table(read_bytes(ListedFile(root, root.name))):
        table = with_texts(read_table(root))
        return _from_records(table.records, tokens, name or root.stem, table.remark)
    splitter = Splitter(tokens)
    left_out = None
    if leave_out:
        left_out = Path(leave_out).expanduser().resolve()
    listing = list_folder(root, left_out)
    folder = root
    if not root.is_dir():
        folder = root.parent
    entries = dict[str, FileEntry]()
    with progress_bar(len(listing.files), "reading documents", "file") as bar:
        for batch in _batches(listing.files):
            name_of_folder = folder.resolve().name
            entries |= _read_batch(batch, name_of_folder, splitter, store or Store())
            bar.update(len(batch))
    remove_renditions(entries)
    return collect(
        name or root.resolve().stem,
        entries,
        {"loader": "from_folder", "tokens": tokens},
        endings=ENDINGS,
        n_hidden=listing.hidden,
    )


def _batches(files: Sequence[ListedFile]) -> Iterator[list[FileBytes]]:
    """The contents of files and of the files packed in them, in batches; copies have a reason."""
    batch = list[FileBytes]()
    size = 0
    for contents in _without_copies(_contents(files)):
        batch.append(contents)
        size += len(contents.data)
        if len(batch) >= BATCH_FILES or size >= BATCH_BYTES:
            yield batch
            batch = []
            size = 0
    if batch:
        yield batch


def _contents(files: Sequence[ListedFile]) -> Iterator[FileBytes]:
    """The contents of files and of the files packed in them, each with the files that it includes."""
    path_of = {file.relative_path: file.path for file in files if not file.reason}
    inclusions = Inclusions(list(path_of), lambda name: path_of[name].read_bytes())
    threads = MailThreads(list(path_of), lambda name: path_of[name].read_bytes())
    in_wikis = wiki_titles([file.relative_path for file in files])
    in_dokuwikis = dokuwiki_files(path_of)
    notes = named_notes(path_of)
    for contents in chain.from_iterable(
        read_files(_with_reason(file, inclusions.reasons)) for file in files
    ):
        if contents.reason:
            yield contents
            continue
        path = contents.relative_path
        data = threads.whole(path, inclusions.whole(path, contents.data))
        if path in in_wikis and contents.ending in (".md", ".markdown"):
            data = with_page_first(data)
        if path in in_dokuwikis:
            contents = replace(contents, read_as=".dokuwiki")
        yield replace(contents, data=data, is_named_note=path in notes)


def _with_reason(file: ListedFile, reasons: Mapping[str, str]) -> ListedFile:
    """A listed file with the reason why it is not read, if there is one.

    reasons : path of a file that is part of another -> the reason.
    """
    reason = reasons.get(file.relative_path, file.reason)
    if not reason and is_output(file.path):
        reason = "written by kg2rag"
    return file._replace(reason=reason)


def _without_copies(files: Iterable[FileBytes]) -> Iterator[FileBytes]:
    """The contents of files; of equal ones, all but the first have a reason in place of them."""
    path_of_checksum = dict[str, str]()
    for contents in files:
        path = contents.relative_path
        first = path
        if not contents.reason:
            first = path_of_checksum.setdefault(contents.checksum, path)
        if first == path:
            yield contents
        else:
            yield FileBytes(path, reason="the same as another file")


def _read_batch(
    batch: Sequence[FileBytes], folder: str, splitter: Splitter, store: Store
) -> dict[str, FileEntry]:
    """Path -> entry of each file, from the store or newly read; failures are not stored."""
    keyed_file = store.keyed_file("documents")
    keys = {
        file.relative_path: file.key(folder, splitter.tokens)
        for file in batch
        if not file.reason
    }
    stored = keyed_file.find(list(keys.values()))
    entries = dict[str, FileEntry]()
    new = list[tuple[str, bytes]]()
    for file in batch:
        if file.reason:
            entries[file.relative_path] = FileEntry(reason=file.reason)
        elif keys[file.relative_path] in stored:
            data = stored[keys[file.relative_path]]
            entries[file.relative_path] = FileEntry.load(data)
        else:
            entry = read_entry(file, folder, splitter)
            entries[file.relative_path] = entry
            if not entry.failed:
                new.append((keys[file.relative_path], entry.dump()))
    if new:
        keyed_file.keep(new)
    return entries


def from_texts(texts: Any, *, tokens: int = TOKENS, name: str = "texts") -> Documents:
    """The documents of texts: a list, {id: text}, dicts, a frame, or documents of LangChain or LlamaIndex.

    A frame has a column `text`, and optionally `id`, `title`, `doc_id` and `position`; all other
    columns are kept as metadata. A text longer than `tokens` is divided at paragraphs and
    sentences.

    >>> from_texts(["Ada wrote notes.", "Charles built engines."])
    Documents('texts', Corpus(2 passages, 2 documents))
    """
    return _from_records(texts, tokens, name)


def _from_records(texts: Any, tokens: int, name: str, remark: str = "") -> Documents:
    """The documents of texts; the report has a remark on the reading of each, such as a guessed encoding."""
    splitter = Splitter(tokens)
    corpus = corpus_of(texts, name)
    rows = record_rows(corpus, splitter)
    entries = {passage.id: FileEntry(remark=remark) for passage in corpus}
    for row in rows:
        entry = entries[row.pop("record")]
        entry.rows.append(row)
        entry.divided = max(entry.divided, row.pop("divided"))
    return collect(name, entries, {"loader": "from_texts", "tokens": tokens})


from_frame = from_texts
"""Another name of `from_texts`, which users of pandas expect."""
