"""Texts, records or a frame -> a `Corpus`, and the records of any table."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, TypeGuard

import pyarrow as pa

from kg2rag.text.records import DataError, quote, reading, wrong
from kg2rag.text.records import text as text_of
from kg2rag.types.corpus import Corpus
from kg2rag.types.gold_columns import TEST_COLUMNS, is_gold_column
from kg2rag.types.passages import Passage

PASSAGE: Mapping[str, tuple[str, ...]] = {
    "id": (
        *("id", "_id", "passage_id", "chunk_id", "docid", "docno", "pid"),
        *("corpus-id", "corpus_id"),
    ),
    "text": (
        *(
            "text",
            "contents",
            "content",
            "body",
            "passage",
            "paragraph",
            "page_content",
            "markdown",  # of crawlers
        ),
        *("texte", "texto", "testo", "tekst", "contenu", "contenido", "inhalt"),
        *("текст", "内容", "正文", "本文", "テキスト", "본문", "نص", "पाठ"),
        # of arXiv, OpenAlex and others, and of Zotero
        *("abstract", "abstract note"),
    ),
    "title": (
        *("title", "name", "headline", "display_name"),
        *("titel", "titre", "título", "titulo", "titolo", "tytuł", "başlık", "tiêu đề"),
        *(
            "заголовок",
            "название",
            "标题",
            "標題",
            "タイトル",
            "제목",
            "عنوان",
            "शीर्षक",
        ),
    ),
    "doc_id": ("doc_id", "document_id"),
    "position": ("position",),
}
"""Field -> the accepted names of its column; the first name present counts, the others are metadata."""
_LABEL = "label of the index"
"""Key of the label of a row in the index of a pandas frame."""
_SIGNS = re.compile(r"[\W_]+|(?<=[^\W\d_])(?<![A-Z])(?=[A-Z])")
"""What separates the words of a name: signs, or nothing before a capital."""
QUESTION_AND_ANSWER: Mapping[str, tuple[str, ...]] = {
    "question": (
        *("question", "questions", "query", "frage", "pregunta", "pergunta"),
        *("domanda", "vraag", "pytanie", "soru", "вопрос", "问题", "質問", "질문"),
    ),
    "answer": (
        *("answer", "answers", "response", "reply", "antwort", "réponse", "respuesta"),
        *("resposta", "risposta", "antwoord", "odpowiedź", "cevap", "yanıt", "ответ"),
        *("回答", "答案", "答え", "답변", "답"),
    ),
}
"""Column of a FAQ -> its accepted names."""


def corpus_of(source: object, where: str = "corpus") -> Corpus:
    """The corpus of texts, records (dicts), `Passage`s, a mapping from id to text or record, or a frame.

    Frames are of pandas, polars, pyarrow or any library that narwhals knows, or of `datasets`;
    documents of LangChain and LlamaIndex are records. A text may be a list of sentences. The
    default id is the id of the document if no two passages have the same, else the position from 0
    or the index of a pandas frame; a UserWarning names another column that may be the id. Fields
    that `PASSAGE` does not name are metadata. DataError names record and field: there is no text, a
    value has another type, or an id occurs twice.
    """
    if isinstance(source, Corpus):
        return source
    if isinstance(source, Iterator):
        source = list(source)
    with reading(where, "Give a table or a list of passages.", ValueError):
        if _are_passages(source):
            return Corpus.from_passages(source)
        rows = with_answers_as_texts(records(source, where, PASSAGE))
        return Corpus.from_passages(
            _passage(row, where, number) for number, row in enumerate(rows, start=1)
        )


def with_answers_as_texts(
    rows: Sequence[Mapping[str, Any]],
) -> list[Mapping[str, Any]]:
    """The records of a FAQ with a text: the answer, below the title or else below the question.

    A record without an answer has its question as text. Other records, such as those of test
    questions, are returned as they are.
    """
    columns = faq_columns(rows)
    return [_with_answer(row, *columns) if columns else row for row in rows]


def faq_columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The columns of the questions and of the answers in the records of a FAQ; [] for other records."""
    columns = distinct_columns(rows)
    field_of = fields_of_columns(columns, QUESTION_AND_ANSWER)
    others = TEST_COLUMNS.union(PASSAGE["text"])
    if len(field_of) < 2 or any(map(is_gold_column, columns)):
        return []
    if any(column.casefold() in others for column in columns):
        return []
    values = [row[column] for row in rows for column in field_of if column in row]
    return list(field_of) if all(isinstance(value, str) for value in values) else []


def _with_answer(row: Mapping[str, Any], question: str, answer: str) -> dict[str, Any]:
    """A record of a FAQ with its text, and with its question as title if it has none."""
    parts = [row[column] for column in (question, answer) if column in row]
    fields = {
        name: value for name, value in row.items() if name not in (question, answer)
    }
    if len(parts) == 2 and "title" not in row:
        fields["title"] = parts.pop(0)
    return {**fields, "text": "\n".join(parts)} if parts else fields


def _are_passages(source: object) -> TypeGuard[Iterable[Passage]]:
    """Whether a value is a collection of `Passage` objects only."""
    if not isinstance(source, Iterable) or isinstance(source, str | bytes | Mapping):
        return False
    return all(isinstance(item, Passage) for item in source)


def _passage(row: Mapping[str, Any], where: str, number: int) -> Passage:
    """The passage of a record whose columns are renamed to fields; `number` counts from 1."""
    if "text" not in row:
        names = ", ".join(PASSAGE["text"])
        raise DataError(
            f"{where}, record {number}: no text; it has {', '.join(row)}. "
            f"Its cell is empty, or its column needs one of the names {names}."
        )
    id_ = identifier(row.get("id"), where, number)
    return Passage(
        id_,
        text_of({"title": "", **row}, "title", where, number),
        text_of({**row, "text": _joined(row["text"])}, "text", where, number),
        identifier(row.get("doc_id", id_), where, number),
        _position(row, where, number),
        {name: value for name, value in row.items() if name not in PASSAGE},
    )


def _joined(value: Any) -> Any:
    """The text of a list of sentences, joined by blanks; any other value itself."""
    if not isinstance(value, list | tuple) or not value:
        return value
    if not all(isinstance(part, str) for part in value):
        return value
    return " ".join(part.strip() for part in value)


def _position(row: Mapping[str, Any], where: str, number: int) -> int:
    """The position of a passage in its document, 0 by default; a text of digits is converted."""
    position = row.get("position", 0)
    if isinstance(position, str) and position.strip().isdecimal():
        position = int(position)
    if type(position) is not int or position < 0:
        wrong(where, number, "position", position, "a whole number from 0")
    return position


def records(
    source: object, where: str, names: Mapping[str, Sequence[str]]
) -> list[dict[str, Any]]:
    """The records of a table or list, with columns renamed to fields and without missing values.

    `names` maps a field to the accepted names of its column. If there is no `id` column, the id is
    the label in the index of a pandas frame, or the number of the record from 0; see `corpus_of`
    for passages.
    """
    rows = [_without_missing(row) for row in _rows(source, where, names.get("id", ()))]
    labels = [row.pop(_LABEL, number) for number, row in enumerate(rows)]
    field_of = fields_of_columns(distinct_columns(rows), names)
    renamed = [
        {field_of.get(column, column): value for column, value in row.items()}
        for row in rows
    ]
    if "id" in field_of.values():
        return renamed
    if "doc_id" in names:
        labels = _ids_of_passages(renamed, labels, where)
    return [{"id": label, **row} for label, row in zip(labels, renamed, strict=True)]


def _ids_of_passages(
    rows: Sequence[Mapping[str, Any]], labels: list[Any], where: str
) -> list[Any]:
    """The ids of passages without a column of ids: those of their documents if distinct, else `labels`.

    A UserWarning names a column that may be the id: it ends in "id" and has distinct values.
    """
    if _has_distinct_ids(rows, "doc_id"):
        return [row["doc_id"] for row in rows]
    for column in distinct_columns(rows):
        is_id = column not in PASSAGE and column.casefold().endswith("id")
        if (
            is_id
            and _has_distinct_ids(rows, column)
            and [row[column] for row in rows] != labels
        ):
            warnings.warn(
                f"{where}: no column is an id, so ids are such as {quote(labels[0])}. "
                f"If column {column!r} has the ids, call it 'id'.",
                stacklevel=4,
            )
            break
    return labels


def _has_distinct_ids(rows: Sequence[Mapping[str, Any]], column: str) -> bool:
    """Whether every one of several rows has another text or whole number in a column."""
    values = [row.get(column) for row in rows]
    are_ids = all(type(value) in (int, str) for value in values)
    return are_ids and 1 < len(rows) == len(set(map(str, values)))


def distinct_columns(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """The columns of some records, each once, in the order in which they occur first."""
    return list(dict.fromkeys(chain.from_iterable(dict.fromkeys(map(tuple, rows)))))


def fields_of_columns(
    columns: Iterable[str], names: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """Column -> field, for the columns that are fields.

    Of several columns with accepted names, the first in the list of names is the field. A column
    with the same case is preferred to one with another case, and this to one whose words are
    separated otherwise: documentId or "Document ID" is document_id.
    """
    distinct = list(dict.fromkeys(columns))
    column_of = {_joined_words(column): column for column in reversed(distinct)}
    column_of |= {column.casefold(): column for column in reversed(distinct)}
    column_of |= {column: column for column in distinct}
    field_of = dict[str, str]()
    for field, spellings in names.items():
        present = [
            column_of[spelling] for spelling in spellings if spelling in column_of
        ]
        if present:
            field_of.setdefault(present[0], field)
    return field_of


def _joined_words(column: str) -> str:
    """The words of a name in lower case, joined by "_".

    >>> [_joined_words(name) for name in ("documentId", "Document ID", "ID", "corpus-id")]
    ['document_id', 'document_id', 'id', 'corpus_id']
    """
    return _SIGNS.sub("_", column).strip("_").casefold()


def _without_missing(row: Mapping[Any, Any]) -> dict[str, Any]:
    """The values of a row by column name as Python values, without missing ones."""
    return {
        str(column): python_value(value)
        for column, value in row.items()
        if not is_missing(value)
    }


def _rows(
    source: Any, where: str, id_names: Sequence[str]
) -> Iterable[Mapping[Any, Any]]:
    """The rows of a frame, a mapping from id to text or record, or a list."""
    frame = frame_of(_table_of_datasets(source, where))
    if frame is not None:
        return _frame_rows(frame, where, id_names)
    if isinstance(source, Mapping):
        return [
            {"id": id_, **_record(item, f"{where}, record {id_!r}")}
            for id_, item in source.items()
        ]
    if isinstance(source, Iterable) and not isinstance(source, str | bytes):
        return [
            _record(item, f"{where}, record {number}")
            for number, item in enumerate(source, start=1)
        ]
    raise TypeError(
        f"{where}: give a list of texts or of dicts, {{id: text}} or a frame, not {quote(source)}. "
        "kg2rag.from_folder(path) reads files."
    )


def _table_of_datasets(source: Any, where: str) -> Any:
    """The Arrow table of a `datasets.Dataset` or one-split `DatasetDict`; else the value itself."""
    datasets = sys.modules.get("datasets")
    if datasets is None:
        return source
    if isinstance(source, datasets.DatasetDict):
        if len(source) != 1:
            raise ValueError(
                f"{where}: a DatasetDict of {', '.join(source)}. Give one split, such as "
                f"data[{next(iter(source))!r}]."
            )
        source = next(iter(source.values()))
    if isinstance(source, datasets.Dataset):
        source = source.with_format("arrow")[:]
    return source


def frame_of(source: Any) -> Any:
    """The narwhals frame of a pandas, polars, pyarrow or similar frame; None for other values."""
    import narwhals as nw

    if isinstance(source, pa.RecordBatch):
        source = pa.table(source)
    elif isinstance(source, pa.Array | pa.ChunkedArray):
        source = pa.table({"text": source})
    elif hasattr(source, "to_frame") and hasattr(source, "index"):  # a Series of pandas
        source = source.to_frame("text")
    if hasattr(source, "set_axis") and source.columns.nlevels > 1:
        names = [" ".join(filter(None, map(str, levels))) for levels in source.columns]
        source = source.set_axis(names, axis="columns")
    frame = nw.from_native(source, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        return frame.collect()
    return frame if isinstance(frame, nw.DataFrame) else None


def _frame_rows(
    frame: Any, where: str, id_names: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """The rows of a frame; without an id column, the index of a pandas frame is the id."""
    has_id = bool(fields_of_columns(map(str, frame.columns), {"id": id_names}))
    rows: Iterator[dict[str, Any]] = frame.iter_rows(named=True)
    if has_id or not hasattr(frame.to_native(), "index"):
        return rows
    labels = _index_labels(frame.to_native(), where)
    levels = _named_levels(frame.to_native().index)
    return (
        {_LABEL: label, **level, **row}
        for label, level, row in zip(labels, levels, rows, strict=True)
    )


def _named_levels(index: Any) -> Iterator[dict[str, Any]]:
    """For each row of a pandas frame, the levels of its index that have names, such as those of a groupby."""
    for label in index:
        levels = label if index.nlevels > 1 else (label,)
        yield {
            str(name): python_value(level)
            for name, level in zip(index.names, levels, strict=True)
            if name is not None
        }


def _index_labels(frame: Any, where: str) -> list[Any]:
    """The index of a pandas frame, levels joined by "/"; DataError if a label occurs twice."""
    index = frame.index
    if index.nlevels > 1:
        index = index.map(lambda levels: "/".join(map(str, levels)))
    repeated = index[index.duplicated()]
    if len(repeated):
        raise DataError(
            f"{where}: no column is an id, and the index has {quote(python_value(repeated[0]))} more than once. "
            "Give a column 'id', or number the rows: frame.reset_index(drop=True)."
        )
    return list(index)


def is_missing(value: Any) -> bool:
    """Whether a cell is empty: None, NaN, or pandas' NaT or NA.

    NaN and NaT differ from themselves; NA has no truth value.
    """
    if value is None:
        return True
    if hasattr(value, "__len__"):
        return False
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA
        return True


def _record(item: Any, where: str) -> Mapping[Any, Any]:
    """The record of a text, a dict, or a document of LangChain or LlamaIndex with its metadata."""
    if isinstance(item, str):
        return {"text": item}
    if isinstance(item, Mapping):
        return item
    metadata = getattr(item, "metadata", None)
    if isinstance(metadata, Mapping):
        if isinstance(getattr(item, "page_content", None), str):
            ids = {
                "id": getattr(item, "id", None) or metadata.get("id"),
                "doc_id": metadata.get("doc_id") or metadata.get("source"),
            }
            return {**metadata, **ids, "text": item.page_content}
        if callable(getattr(item, "get_content", None)):
            ids = {
                "id": getattr(item, "node_id", None),
                "doc_id": getattr(item, "ref_doc_id", None),
            }
            return {**metadata, **ids, "text": item.get_content()}
    raise TypeError(f"{where}: a text or a dict is needed, not {quote(item)}.")


def python_value(value: Any) -> Any:
    """A pandas or numpy value as a Python value: arrays as lists, whole floats as integers.

    The same holds for values within lists and mappings, such as the answers of a row of SQuAD.
    """
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float) and value.is_integer():
        return int(value)
    # Of a long list of numbers, a vector, no number is examined.
    if type(value) is list and value and not isinstance(value[0], str | int | float):
        return list(map(python_value, value))
    if type(value) is dict:
        return {key: python_value(item) for key, item in value.items()}
    return value


def identifier(value: object, where: str, number: int) -> str:
    """The text of an id: a text or a number; a whole float counts as an integer.

    DataError: the id is missing, blank, a truth value or a collection.
    """
    python = python_value(value)
    text = str(python)
    is_collection = isinstance(python, dict | list | set | tuple)
    if (
        is_missing(value)
        or isinstance(python, bool)
        or is_collection
        or not text.strip()
    ):
        raise DataError(
            f"{where}, record {number}: its id is {quote(value)}. Give every record a unique one."
        )
    return text
