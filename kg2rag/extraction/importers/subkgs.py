"""KG2RAG's published sub-graphs -> raw and clean triples; every cleaning step is counted.

One JSON object a line: `{"title": …, "sentences": {"<sentence index>": [[head, relation, tail],
…]}}`. Llama-3-8B wrote `<head## relation## tail>` lines for HotpotQA's articles, and the release
cut one character off both ends of each. Hence the noise, as found in the 23,723 triples of 300
questions; the numbers are how many triples each rule met.

Cleaned:
- heads that keep a "<" or all of the LLM's preamble up to it (12,532): what follows the last "<" is kept;
- heads with a preamble but no "<" (181): the last line is kept;
- heads with a ">" (22): what follows it is kept;
- labels ("Text:", "Triplets:") and list marks ("*", "-", ">", "$") around an end;
- tails with a ">" and what the LLM wrote after it;
- ends that lost a letter because the line had no brackets to cut: put back where the passage has exactly that word;
- ends that are a pronoun: the title, which is what the article is about.

Dropped: a fact of the prompt's own example, copied into the answer (338), where the passage does
not name its head; a blank part, a null word ("none", "unknown"), a function word ("and", "after")
as an end, a relation without a content word, equal ends, an end too long to be a name, a triple
that the sentence states twice.

KG2RAG's own code cleans nothing, and its trees follow from these very letters. So the extraction
has every triple as the file has it, too, as `raw`: `kg2rag_official` reads these, and every other
strategy the graph of the clean ones.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from pydantic import NonNegativeInt, TypeAdapter, ValidationError

from kg2rag.extraction import Extraction, TripleTexts
from kg2rag.extraction.importers import FileSource, noting_encodings
from kg2rag.text.normalisation import normalise
from kg2rag.text.records import DataError, read_jsonl, text, wrong
from kg2rag.types import Corpus, Triple

_LISTS = tomllib.loads(
    Path(__file__).with_name("subkgs.toml").read_text(encoding="utf-8")
)
_WORDS = {name: frozenset(words) for name, words in _LISTS.items()}
_LABEL = re.compile(r"^\s*(?:text|triplets?)\s*:\s*", re.IGNORECASE)
_PREAMBLE = re.compile(
    r"^(?:h?ere (?:are|is) the .*?triplets?\b[^\n]*:|-{5,})", re.IGNORECASE | re.DOTALL
)
_MARKS = " \t\r\n*$>_|`-"
_LOST_FIRST = r"(?<!\w)\wEND"
_LOST_LAST = r"END\w(?!\w)"
_SENTENCES = TypeAdapter(dict[NonNegativeInt, list[TripleTexts]])
Sentence = tuple[str, int, list[TripleTexts]]
"""The title, number and triples of a sentence."""
LONGEST = 100
"""The maximum of characters in an end; longer ends are no names."""


def clean(
    triples: Sequence[TripleTexts], title: str, contents: str, notes: Counter[str]
) -> list[TripleTexts]:
    """The clean triples of one sentence, in their order.

    Parameters
    ----------
    title : the title of the passage, which replaces pronouns.
    contents : the contents of the passage, in which lost letters are looked up.
    notes : gets the counts of cleaned and dropped parts, by cause.
    """
    # Letters were lost only in sentences whose lines had no brackets.
    has_lost_letters = not any("<" in head for head, _, _ in triples)
    cleaned: dict[TripleTexts, None] = {}
    for raw_head, raw_relation, raw_tail in triples:
        head = _head(raw_head, notes)
        tail = _unmarked(
            _noted(raw_tail, raw_tail.partition(">")[0], "tail before a '>'", notes),
            notes,
        )
        if has_lost_letters:
            head = _restored(head, contents, _LOST_FIRST, notes)
            tail = _restored(tail, contents, _LOST_LAST, notes)
        triple = (
            _resolved(head, title, notes),
            " ".join(raw_relation.split()),
            _resolved(tail, title, notes),
        )
        cause = _fault(triple, contents)
        if cause is None and triple in cleaned:
            cause = "dropped: stated twice in a sentence"
        if cause is None:
            cleaned[triple] = None
        else:
            notes[cause] += 1
    return list(cleaned)


def _noted(end: str, cleaned: str, cause: str, notes: Counter[str]) -> str:
    """The cleaned end; `notes` counts the cause if it differs from the end."""
    notes[f"cleaned: {cause}"] += cleaned != end
    return cleaned


def _head(head: str, notes: Counter[str]) -> str:
    """A head without the text that the model wrote before it."""
    if "<" in head:
        notes[
            "cleaned: head after a '<'"
            if head.startswith("<")
            else "cleaned: head after a preamble and '<'"
        ] += 1
        head = head.rsplit("<", 1)[1]
    elif _PREAMBLE.match(head):
        notes["cleaned: head after a preamble without '<'"] += 1
        head = head.rsplit("\n", 1)[-1]
    end = head.rstrip(_MARKS)
    opened = _noted(end, end.rpartition(">")[2], "head after a '>'", notes)
    return _unmarked(
        _noted(opened, _LABEL.sub("", opened), "head after a label", notes), notes
    )


def _unmarked(end: str, notes: Counter[str]) -> str:
    """An end without the marks around it."""
    plain = " ".join(end.split())
    return _noted(
        plain,
        plain.strip(_MARKS).removesuffix(":").rstrip(),
        "marks around an end",
        notes,
    )


def _restored(end: str, contents: str, pattern: str, notes: Counter[str]) -> str:
    """The end with its lost letter, if the passage has the end only as part of such a word.

    A pronoun is returned unchanged. `pattern` : `_LOST_FIRST` or `_LOST_LAST`.
    """
    escaped = re.escape(end)
    if (
        not end
        or normalise(end) in _WORDS["pronouns"]
        or re.search(rf"(?<!\w){escaped}(?!\w)", contents)
    ):
        return end
    match = re.search(pattern.replace("END", escaped), contents)
    return _noted(end, match[0], "lost letter put back", notes) if match else end


def _resolved(end: str, title: str, notes: Counter[str]) -> str:
    """The title if the end is a pronoun, else the end."""
    if normalise(end) in _WORDS["pronouns"]:
        return _noted("", title, "pronoun read as the title", notes)
    return end


def _fault(triple: TripleTexts, contents: str) -> str | None:
    """The cause for which a triple is dropped; None for a valid triple."""
    head, relation, tail = triple
    ends = (head, tail)
    faults = {
        "a blank part": not (all(map(_has_word, ends)) and relation),
        "copied from the prompt's example": head in _WORDS["examples"]
        and normalise(head) not in normalise(contents),
        "a null word as an end": not _WORDS["nulls"].isdisjoint(map(str.lower, ends)),
        "a function word as an end": any(map(_is_function_word, ends)),
        "a relation without a content word": relation.lower()
        in _WORDS["empty_relations"]
        or not _has_word(relation),
        f"an end of more than {LONGEST} characters": max(map(len, ends)) > LONGEST,
        "equal ends": normalise(head) == normalise(tail),
    }
    return next((f"dropped: {fault}" for fault, is_so in faults.items() if is_so), None)


def _has_word(text: str) -> bool:
    """Whether a text has a letter, a digit or an underscore."""
    return re.search(r"\w", text) is not None


def _is_function_word(end: str) -> bool:
    """Whether an end is a function word, "after" or "After"; "A" and "IT" are not."""
    return end.lower() in _WORDS["function_words"] and not end.isupper()


@dataclass(frozen=True)
class KG2RAGSubgraphs(FileSource):
    """Triples per title and sentence, as KG2RAG published them.

    Parameters
    ----------
    path : the file, such as subkgs.jsonl.
    """

    kind: ClassVar[str] = "subkgs-3"
    wanted: ClassVar[str] = "KG2RAG's sub-graphs as JSON Lines (subkgs.jsonl)"

    @noting_encodings
    def extract(self, corpus: Corpus) -> Extraction:
        """The triples of the corpus's titles, for paragraphs together, for sentences one by one.

        `notes` counts what was cleaned and dropped, titles outside the corpus and passages without
        a triple. Where several paragraphs share a title, no clean triple can be told to be of one
        of them; a raw one is of each, as the released code looks them up by title and sentence
        number. DataError where no title is in the corpus, or a record is malformed.
        """
        notes: Counter[str] = Counter()
        rows_at = _rows_by_place(corpus)
        sentences = list(self._sentences({title for title, _ in rows_at}, notes))
        if not sentences:
            raise DataError(
                f"{self.path}: none of its titles is in the corpus. Does it belong to this data set?"
            )
        # The passages are paragraphs.
        if not any(position > 0 for _, position in rows_at):
            sentences = [(title, 0, facts) for title, _, facts in sentences]
        raw_triples: list[Triple] = []
        for title, number, facts in sentences:
            notes["triples read"] += len(facts)
            raw_triples += (
                Triple(*fact, corpus.ids[row])
                for row in rows_at[title, number]
                for fact in facts
            )
        triples = _clean_triples(sentences, rows_at, corpus, notes)
        notes["passages without a triple"] = len(corpus) - len(
            {triple.passage_id for triple in triples}
        )
        return Extraction(tuple(triples), notes=notes, raw=tuple(raw_triples))

    def _sentences(
        self, titles: Collection[str], notes: Counter[str]
    ) -> Iterator[Sentence]:
        """The sentences of the titles of the corpus: title, number and triples."""
        for line, record in read_jsonl(self.path):
            title = text(record, "title", self.path, line)
            if title not in titles:
                notes["titles outside the corpus"] += 1
                continue
            try:
                sentences = _SENTENCES.validate_python(record.get("sentences"))
            except ValidationError as error:
                fault = error.errors()[0]
                place = " ".join(map(str, ("sentences of", repr(title), *fault["loc"])))
                wrong(self.path, line, place, fault["input"], fault["msg"])
            yield from ((title, number, facts) for number, facts in sentences.items())


def _clean_triples(
    sentences: Sequence[Sentence],
    rows_at: Mapping[tuple[str, int], list[int]],
    corpus: Corpus,
    notes: Counter[str],
) -> list[Triple]:
    """The clean triples of sentence passages; triples of other passages cannot be assigned."""
    triples: list[Triple] = []
    for title, number, facts in sentences:
        rows = rows_at[title, number]
        if len(rows) != 1:
            notes["dropped: a sentence that is not exactly one passage"] += len(facts)
            continue
        cleaned = clean(facts, title, corpus.contents[rows[0]], notes)
        triples += (Triple(*fact, corpus.ids[rows[0]]) for fact in cleaned)
    return triples


def _rows_by_place(corpus: Corpus) -> defaultdict[tuple[str, int], list[int]]:
    """(title or document id, position) -> the rows of the passages."""
    rows: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
    positions = corpus.table["position"].to_pylist()
    for row, (title, doc_id, position) in enumerate(
        zip(corpus.titles, corpus.doc_ids, positions, strict=True)
    ):
        rows[title or doc_id, position].append(row)
    return rows
