"""What the room offers to the rooms above it."""

from .announcement import Workload as Workload
from .base import KnowledgeBase as KnowledgeBase
from .graph import KnowledgeGraph as KnowledgeGraph
from .graph import Neighbour as Neighbour
from .graph import graph_score as graph_score
from .indexes.dense import DenseIndex as DenseIndex
from .indexes.lexical_terms import LexicalSettings as LexicalSettings
from .indexes.trigram import Similar as Similar
from .indexes.trigram import TrigramIndex as TrigramIndex
