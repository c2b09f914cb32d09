"""Published numbers beside ours, with a verdict each; and a comparison run twice, byte for byte.

A *ledger* is a TOML file of published numbers and of our runs to compare with them (`ledger.py`); `reproduce` runs
it; `verify` repeats a comparison under other hash seeds and thread counts, `across` under other instruction sets.
"""

from kg2rag.experiments.reproduction.instruction_sets import Across, across
from kg2rag.experiments.reproduction.ledger import Ledger
from kg2rag.experiments.reproduction.linked import LinkedRows, linked
from kg2rag.experiments.reproduction.runs import reproduce
from kg2rag.experiments.reproduction.tables import Reproduction
from kg2rag.experiments.reproduction.verification import Verification, verify

__all__ = ["Across", "Ledger", "LinkedRows", "Reproduction", "Verification", "across", "linked", "reproduce", "verify"]
