"""Your own documents, in a folder, a list or a table -> `Documents`: passages of the encoder's length, and a report.

Files are read by markdown-it-py, Beautiful Soup, mammoth (.docx) and pypdfium2 (.pdf); blocks longer than a passage are
divided by semchunk. A passage is a stretch of one section; its text begins with the section's headings, and its
metadata has the `file` and the `headings`; `doc_id` and `position` tell its neighbours. Names are looked for in prose
alone: in what a passage says without code, addresses, headings that several documents have, and footers.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kg2rag.compute import EncoderTokens, Store
from kg2rag.compute.parallel import progress_bar
from kg2rag.datasets.document_files import PROSE, READERS, TABLES, Block, paragraphs, read_table
from kg2rag.datasets.frames import from_frames
from kg2rag.text.normalisation import split_sentences
from kg2rag.text.records import DataError, reading, sha256
from kg2rag.types import Corpus, Passage, QADataset, corpus_of

if TYPE_CHECKING:
    import pandas as pd

VERSION = 3  # of how files become passages: raise it, and they are read again
TOKENS = 200
"""Of a passage without its title: all-MiniLM-L6-v2 reads 256, and a title and headings take some thirty."""
ENDINGS = (*READERS, *TABLES)
ALIKE = 0.8
"""Share of their runs of five words, of all that either has, from which two passages are near-duplicates."""
WIDE = 10
"""Passages of a section from which its heading names something in the first of them alone: else it would be a hub."""
COMMON = 4
"""Documents from which a sentence that all of them have, numbers aside, names nothing: a footer, a notice."""
_GENERIC = re.compile(r"(?i)(readme|index|main|home|default)")
_OF_MANUALS = re.compile(r"(?i)(name|synopsis)( [—|-] .*)?$")  # with which every page of a manual begins
_SOURCE = re.compile(r"(|.*/)_sources/(.+?)(?:\.\w+)?\.txt")  # Sphinx keeps them beside its pages
_ADDRESS = r"(?:https?://|www\.)\S+|\S+@\S+\.\w+"
_PLACE = r"\b(?:Figures?|Fig\.|Sections?|Sec\.|Chapters?|Tables?|Versions?|Appendix) v?[\dA-Z][\d.]*(?!\w)"
_LINK = "Additionally|Also|Alternatively|Consequently|Currently|Finally|Furthermore|Hence|Instead|Moreover|Nevertheless"
_LINK += "|Normally|Note|Notes|Otherwise|Please|See|Similarly|Therefore|Typically|Unfortunately|Usually"
_NO_NAME = re.compile(rf"{_ADDRESS}|{_PLACE}|(?:^|(?<=[.!?:;)] ))(?:{_LINK})\b")  # capitals that name nothing


@dataclass(frozen=True, eq=False)
class Documents(QADataset):
    """Documents, and questions about them where there are any.

    Attributes
    ----------
    report : one row a file or record: document, status ("read" or "skipped"), reason, passages, divided (blocks that
        were longer than a passage).
    """

    report: pd.DataFrame = field(kw_only=True, repr=False)

    def with_questions(self, questions: Any) -> QADataset:
        """The documents as a data set: a DataFrame, a list of dicts, or a .jsonl or .csv file, as `from_frames` has it.

        Gold names passages, or documents: the files' paths in the folder.
        """
        rows = read_table(Path(questions)) if isinstance(questions, str | Path) else questions
        made = from_frames(self.corpus, rows, name=self.name)
        return replace(made, source={**self.source, "questions": made.source["notes"]})

    def near_duplicates(self) -> pd.DataFrame:
        """Passages that say nearly the same: passage, of (the earlier one), similarity (see `ALIKE`)."""
        return near_duplicates(self.corpus)

    def __repr__(self) -> str:
        skipped = Counter(self.report.loc[self.report["status"] == "skipped", "reason"])
        said = [f"{count:,} skipped: {reason}" for reason, count in skipped.most_common(5)]
        divided = int(self.report["divided"].sum())
        said += [f"{divided:,} blocks longer than a passage, divided"] * bool(divided)
        return "\n  ".join([f"Documents({self.name!r}, {self.corpus!r})", *said])


class _Read(NamedTuple):
    passages: list[dict[str, Any]]
    divided: int = 0
    reason: str = ""


def from_folder(
    path: str | Path,
    *,
    tokens: int = TOKENS,
    name: str | None = None,
    store: Store | None = None,
    leave_out: str | Path | None = None,
) -> Documents:
    """The documents of a folder and those below it, or of one file.

    .md, .txt, .html, .pdf and .docx are documents; every line of a .jsonl and row of a .csv is one. What is in the
    store is not read again: so an interrupted reading goes on, and a changed file is read alone. A file that cannot be
    read is skipped, and `report` says why.

    Parameters
    ----------
    tokens : of a passage, without title and headings; less than the encoder reads.
    name : how results call it; the folder's name where not given.
    leave_out : a file that is no document, such as the one with the questions.

    Raises FileNotFoundError: no such folder; ImportError: the extra `documents` is not installed; ValueError: no text
    in any file.
    """
    root, store = Path(path).expanduser(), store or Store()
    if root.suffix.lower() in TABLES and not root.is_dir():
        return from_texts(read_table(root), tokens=tokens, name=name or root.stem)
    if not root.exists():
        raise FileNotFoundError(f"{root} does not exist. Give a folder of documents: {', '.join(ENDINGS)}.")
    base = root if root.is_dir() else root.parent
    other = leave_out and Path(leave_out).expanduser().resolve()
    found = (file for file in sorted(root.rglob("*") if base is root else [root]) if file.is_file())
    placed = ((file.relative_to(base).as_posix(), file) for file in found if file.resolve() != other)
    files = {at: file for at, file in placed if not re.search(r"(^|/)\.", at)}
    split, read, seen = _Splitter(tokens), dict[str, _Read](), dict[str, str]()
    with progress_bar(len(files), "reading documents", "file") as bar:
        for place, file in files.items():
            same = seen.setdefault(sha256(file), place)
            source = _SOURCE.fullmatch(place)
            if source and any(f"{source[1]}{source[2]}{ending}" in files for ending in (".html", ".htm")):
                read[place] = _Read([], reason="the sources of HTML pages that are read")
            elif file.suffix.lower() not in ENDINGS:
                read[place] = _Read([], reason=f"files {file.suffix or 'without an ending'} are not read")
            elif same != place:
                read[place] = _Read([], reason="the same as another file")
            else:
                read[place] = _stored(file, place, base.resolve().name, split, store)
            bar.update()
    return _documents(name or root.resolve().stem, read, {"loader": "from_folder", "tokens": tokens})


def from_texts(texts: Any, *, tokens: int = TOKENS, name: str = "texts") -> Documents:
    """Documents given as texts, in any shape of `kg2rag.types.coerce_corpus`: a list, {id: text}, dicts, a DataFrame.

    A text longer than `tokens` is divided at paragraphs and sentences.

    >>> from_texts(["Ada wrote notes.", "Charles built engines."])
    Documents('texts', Corpus(2 passages, 2 documents))
    """
    split = _Splitter(tokens)
    read = {one.id: split.text(one, one.id, one.metadata) for one in corpus_of(texts, name)}
    return _documents(name, read, {"loader": "from_texts", "tokens": tokens})


def from_frame(frame: pd.DataFrame, *, tokens: int = TOKENS, name: str = "frame") -> Documents:
    """Documents given as a DataFrame: a column `text`, perhaps `id` and `title`; all others are kept as metadata."""
    return from_texts(frame, tokens=tokens, name=name)


def _stored(file: Path, place: str, folder: str, split: _Splitter, store: Store) -> _Read:
    """A file's passages, from the store where it has them; a reason in place of them where it cannot be read."""
    key = {"rules": VERSION, "file": sha256(file), "place": place, "folder": folder, "tokens": split.tokens}

    def read(entry: Path) -> None:
        with reading(file, "Is it whole, and of the kind that its name says?"):
            found = _read(file, place, folder, split)
        (entry / "passages.json").write_text(json.dumps(found, ensure_ascii=False), encoding="utf-8")

    try:
        path = store.entry("documents", key, read)
    except DataError as error:
        return _Read([], reason=str(error).removeprefix(f"{file}: "))
    return _Read(*json.loads((path / "passages.json").read_text(encoding="utf-8")))


def _read(file: Path, place: str, folder: str, split: _Splitter) -> _Read:
    ending = file.suffix.lower()
    if ending in TABLES:
        rows = corpus_of(read_table(file), place)
        made = [split.text(one, f"{place}#{one.id}", {"file": place, **one.metadata}) for one in rows]
        return _Read([one for each in made for one in each.passages], sum(each.divided for each in made))
    title, blocks = READERS[ending](file)
    if not any(block.text.strip() for block in blocks):
        return _Read([], reason="no text in it" + (": of a scan, recognise the text first" if ending == ".pdf" else ""))
    title, blocks = _titled(title, blocks)
    if not title or _OF_MANUALS.match(title):
        own = file.stem
        if _GENERIC.fullmatch(own):
            own = folder if place == file.name else file.parent.name or folder
        own = re.sub(r"(?<=[^\W\d])\.[1-8]\w{0,4}$", "", own)  # a page of a manual, "dot.1"
        title = re.sub(r"[\s_-]+", " ", own).strip()
    return split.document(place, title, blocks, {"file": place})


def _titled(title: str, blocks: list[Block]) -> tuple[str, list[Block]]:
    """The title, and the blocks without the heading that it is: the first block, or the only one of level 1.

    A first heading below level 1 beside which others stand, as in a list of releases, is none.
    """
    first, levels = blocks[0].level, [block.level for block in blocks[1:] if block.level]
    tops = [at for at, block in enumerate(blocks) if block.level == 1]
    alone = first and (first == 1 or all(level > first for level in levels))
    at = 0 if alone else tops[0] if len(tops) == 1 else None
    if at is None:
        return title, blocks
    again = at + 1 < len(blocks) and blocks[at + 1].level and blocks[at + 1].text == blocks[at].text
    return blocks[at].text, [*blocks[:at], *blocks[at + 2 if again else at + 1 :]]


class _Splitter:
    def __init__(self, tokens: int) -> None:
        if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 16:
            raise ValueError(f"tokens must be a whole number from 16, not {tokens!r}.")
        self.tokens, self._count = tokens, EncoderTokens().count

    @cached_property
    def _chunks(self) -> Callable[[str], list[str]]:
        from semchunk import chunkerify

        made: Callable[[str], list[str]] = chunkerify(lambda text: self._count([text])[0], self.tokens)
        return made

    def text(self, given: Passage, id_: str, metadata: Mapping[str, Any]) -> _Read:
        return self.document(id_, given.title, list(paragraphs(given.text)), metadata)

    def document(self, id_: str, title: str, blocks: Sequence[Block], metadata: Mapping[str, Any]) -> _Read:
        """A document's passages, as `Passage`s are made of them, and their prose."""
        made, divided = list[dict[str, Any]](), 0
        for headings, section in _sections(blocks):
            parts = list[Block]()
            for block, size in zip(section, self._count([block.text for block in section]), strict=True):
                divided += size > self.tokens
                texts = self._chunks(block.text) if size > self.tokens else [block.text]
                parts += [block._replace(text=text) for text in texts]
            for packed in _packed(parts, self._count([part.text for part in parts]), self.tokens):
                body = "\n\n".join(block.text for block in packed)
                prose = [_NO_NAME.sub(" ", block.text) for block in packed if block.kind == PROSE]
                one: dict[str, Any] = {"title": title[:200], "text": body, "metadata": dict(metadata)}
                if headings:
                    one["text"] = f"{' > '.join(headings)}\n{body}"
                    one["metadata"]["headings"] = headings
                made.append(one | {"sentences": [said for text in prose for said in split_sentences(text)]})
        for at, one in enumerate(made):
            one |= {"id": id_ if len(made) == 1 else f"{id_}#{at}", "doc_id": id_, "position": at}
        return _Read(made, divided)


def _sections(blocks: Sequence[Block]) -> Iterator[tuple[list[str], list[Block]]]:
    """The blocks under each heading, with the headings above them."""
    path, section = list[Block](), list[Block]()
    for block in (*blocks, Block("", 1)):
        if not block.level:
            section.append(block)
            continue
        if section:
            yield [heading.text[:100] for heading in path], section
        path, section = [*(one for one in path if one.level < block.level), block], []


def _packed(parts: Sequence[Block], sizes: Sequence[int], tokens: int) -> Iterator[list[Block]]:
    """Neighbouring blocks together, as many as a passage holds."""
    packed, size = list[Block](), 0
    for block, own in zip(parts, sizes, strict=True):
        if packed and size + own > tokens:
            yield packed
            packed, size = [], 0
        packed.append(block)
        size += own
    if packed:
        yield packed


def _documents(name: str, read: Mapping[str, _Read], source: Mapping[str, object]) -> Documents:
    import pandas as pd

    rows = [one for each in read.values() for one in each.passages]
    columns = ["document", "status", "reason", "passages", "divided"]
    each = ((at, one.reason, len(one.passages), one.divided) for at, one in read.items())
    about = [(at, "skipped" if reason else "read", reason, *counts) for at, reason, *counts in each]
    reasons = Counter(one.reason for one in read.values() if one.reason)
    if not rows:
        why = "; ".join(f"{count} × {reason}" for reason, count in reasons.most_common(3)) or "none"
        raise DataError(f"{name}: no text in {len(read)} files ({why}). Read are {', '.join(ENDINGS)}.")
    under = Counter((row["doc_id"], heading) for row in rows for heading in row["metadata"].get("headings", ()))
    spread = Counter(heading for _, heading in under)
    said = {(row["doc_id"], _numberless(text)) for row in rows for text in row["sentences"]}
    common = Counter(text for _, text in said)
    begun = set[tuple[str, str]]()
    for row in rows:
        headings = [(row["doc_id"], one) for one in row["metadata"].get("headings", ()) if spread[one] == 1]
        own = [one for one in headings if under[one] < WIDE or one not in begun]
        begun.update(headings)
        prose = [text for text in row["sentences"] if common[_numberless(text)] < COMMON]
        row["sentences"] = [*(_NO_NAME.sub(" ", heading) for _, heading in own), *prose] or [""]
    passages = (Passage(**{key: row[key] for key in row if key != "sentences"}) for row in rows)
    corpus = Corpus.from_passages(passages, [row["sentences"] for row in rows])
    source = {**source, "corpus": corpus.fingerprint, "notes": dict(reasons)}
    return Documents(name, corpus, (), source=source, report=pd.DataFrame(about, columns=columns))


def _numberless(text: str) -> str:
    return re.sub(r"[\d\W]+", " ", text).strip()


def near_duplicates(corpus: Corpus) -> pd.DataFrame:
    """`Documents.near_duplicates` of a corpus: Jaccard similarity of runs of five words, common ones left out."""
    import numpy as np
    import pandas as pd
    from scipy.sparse import csc_matrix, triu
    from sklearn.feature_extraction.text import HashingVectorizer

    runs = HashingVectorizer(ngram_range=(5, 5), binary=True, norm=None, alternate_sign=False, n_features=1 << 24)
    found = csc_matrix(runs.transform(corpus.table["text"].to_pylist()), dtype=np.float32)
    sizes, frequency = np.asarray(found.sum(axis=1)).ravel(), np.diff(found.indptr)
    shared = found[:, np.flatnonzero((frequency > 1) & (frequency <= 50))].tocsr()
    pairs = triu(shared @ shared.T, k=1).tocoo()
    similarity = pairs.data / (sizes[pairs.row] + sizes[pairs.col] - pairs.data)
    kept = np.flatnonzero(similarity >= ALIKE)
    later = {int(pairs.col[at]): at for at in kept[::-1].tolist()}  # each once, with the first that it is like
    rows = [(corpus.ids[row], corpus.ids[pairs.row[at]], similarity[at].round(3)) for row, at in sorted(later.items())]
    return pd.DataFrame(rows, columns=["passage", "of", "similarity"])
