"""A GraphML file -> triples, mentions and entities: ours, Gephi's, yEd's, networkx's, Neo4j's.

`networkx_graph` defines what nodes and edges mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar
from xml.etree.ElementTree import ParseError

from kg2rag.extraction import Extraction
from kg2rag.extraction.importers.file_source import FileSource
from kg2rag.extraction.importers.networkx_graph import extraction_of_networkx
from kg2rag.text.records import DataError
from kg2rag.types.corpus import Corpus

if TYPE_CHECKING:
    import networkx as nx


@dataclass(frozen=True)
class GraphMLFile(FileSource):
    """A graph in a GraphML file, such as `networkx.write_graphml` writes of `KnowledgeGraph.to_networkx`.

    Edges may have the passage that states them (`passage_id`), a `strength` in (0, 10] and a `confidence` in (0, 1].

    Parameters
    ----------
    path : the file.
    relation : the edges' attribute that holds the relation; "label" in many tools' files.
    name : the nodes' attribute that holds the entity's name; where not given, the node's id is the name.
    """

    kind: ClassVar[str] = "graphml-1"
    wanted: ClassVar[str] = "a GraphML file"
    by_id: ClassVar[bool] = True
    strict: ClassVar[bool] = True

    relation: str = "relation"
    name: str | None = None

    def extract(self, corpus: Corpus) -> Extraction:
        """The edges as triples, the nodes as entities, in the file's order.

        Raises
        ------
        ValueError : no GraphML, a node without a name, an edge without a relation, a weight out of range, or a passage
            that the corpus lacks.
        """
        try:
            found = extraction_of_networkx(read_graphml(self.path), relation=self.relation, name=self.name)
        except ValueError as error:
            if str(error).startswith(str(self.path)):
                raise
            raise DataError(f"{self.path}: {error}") from None
        stated = [triple.passage_id for triple in found.triples if triple.passage_id]
        known = frozenset(corpus.ids)
        named = dict.fromkeys((*stated, *(mention.passage_id for mention in found.mentions)))
        strangers = [id_ for id_ in named if id_ not in known]
        if strangers:
            raise DataError(
                f"{self.path}: {len(strangers)} passages are not in the corpus (first: {strangers[0]!r}). "
                "Load the corpus that the graph was made from."
            )
        return found


def read_graphml(file: Path) -> nx.Graph:
    """The graph in a GraphML file; ValueError where it holds none."""
    import networkx as nx

    try:
        return nx.read_graphml(file)
    except ParseError as error:
        raise DataError(f"{file}: no XML ({error}).") from None
    except nx.NetworkXError as error:
        raise DataError(f"{file}: no GraphML that networkx reads ({error}).") from None
