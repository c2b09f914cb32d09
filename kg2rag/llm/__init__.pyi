"""What the room offers to the command line and to users."""

from .analyser import LLMAnalyser as LLMAnalyser
from .chat_model import ChatModel as ChatModel
from .client import Spending as Spending
from .extraction import PromptedTriples as PromptedTriples
from .linker import LLMLinker as LLMLinker
from .questions import plan_questions as plan_questions
from .questions import questions_from as questions_from
from .reader import Reader as Reader
from .replies import Completion as Completion
from .replies import CompletionError as CompletionError
from .replies import Failure as Failure
from .reranker import LLMReranker as LLMReranker
from .usage import Usage as Usage
