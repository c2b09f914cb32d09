"""What the room offers to the rooms above it."""

from .comparing import compare as compare
from .comparison import Comparison as Comparison
from .comparisons import Comparisons as Comparisons
from .metrics import evaluate as evaluate
from .overlap import agreement as agreement
