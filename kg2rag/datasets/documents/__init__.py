"""Files, texts and tables of people's own -> `Documents`: a reader for each kind of file, and one splitter."""

from kg2rag.datasets.documents.collection import Documents
from kg2rag.datasets.documents.folder import from_folder, from_frame, from_texts
from kg2rag.datasets.documents.passages.near_duplicates import ALIKE, near_duplicates
from kg2rag.datasets.documents.readers import ENDINGS

__all__ = [
    "ALIKE",
    "ENDINGS",
    "Documents",
    "from_folder",
    "from_frame",
    "from_texts",
    "near_duplicates",
]
