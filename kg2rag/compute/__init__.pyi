"""What the room offers to the rooms above it."""

from .cosines import all_cosines as all_cosines
from .encoder import DEFAULT_MODEL as DEFAULT_MODEL
from .encoder import Embedder as Embedder
from .encoder import Role as Role
from .encoder import SentenceEncoder as SentenceEncoder
from .files import new_file as new_file
from .files import new_folder as new_folder
from .files import remove_leftovers as remove_leftovers
from .files import write as write
from .hardware import limit_numba as limit_numba
from .hardware import processor as processor
from .hardware import threads as threads
from .llm import ChatModel as ChatModel
from .llm import Completion as Completion
from .llm import CompletionError as CompletionError
from .llm import Failure as Failure
from .llm import Usage as Usage
from .store import Entry as Entry
from .store import Store as Store
from .token_vectors import encode_tokens as encode_tokens
from .tokens import EncoderTokens as EncoderTokens
from .tokens import TokenCounter as TokenCounter
from .tokens import counter_of as counter_of
from .tokens import cut as cut
