"""The public names of this room."""

from .comparison import CompareOptions as CompareOptions
from .comparison import compare as compare
from .metrics import evaluate as evaluate
from .multi_result import Comparisons as Comparisons
from .overlap import agreement as agreement
from .result import Comparison as Comparison
