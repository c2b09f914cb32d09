"""A cross-encoder of one layer and random weights, in a store under a recipe of its own, and the file that names it."""

from __future__ import annotations

from pathlib import Path

from fit import toml_text

from kg2rag.compute import Store
from kg2rag.retrievers.mention_chains.cross import FORMAT, MAX_TOKENS, STAGE
from kg2rag.retrievers.mention_chains.ranker import KINDS

RECIPE = {"seed": 0, "files": {"tiny/one.json": "0"}}
CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789.,?!'-"


def save_network(folder: Path, seed: int = 0) -> Path:
    """A BERT of one layer over single characters, saved as sentence-transformers saves one."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *CHARACTERS, *(f"##{each}" for each in CHARACTERS)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(pieces))
    torch.manual_seed(seed)
    size = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = BertConfig(vocab_size=len(pieces), num_labels=1, initializer_range=1.0, **size)
    config.sentence_transformers = {"activation_fn": "torch.nn.modules.linear.Identity"}
    BertForSequenceClassification(config).save_pretrained(folder)
    BertTokenizer(str(folder / "vocab.txt"), model_max_length=MAX_TOKENS).save_pretrained(folder)
    return folder


def tiny_weights(store: Store, file: Path, chains: float = 1.0, cross: float = 0.5) -> str:
    """The path of a file for `weights`, whose network is in the store."""
    store.entry(STAGE, RECIPE, save_network)
    orders = {f"order.{kind}": {"chains": chains, "cross": cross} for kind in KINDS}
    file.write_text(toml_text([f"format = {FORMAT}"], {"recipe": RECIPE, **orders}), encoding="utf-8")
    return str(file)
