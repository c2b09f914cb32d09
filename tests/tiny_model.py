"""A sentence-transformers model with random weights, small enough to be made and run in a moment."""

from __future__ import annotations

from pathlib import Path

WORDS = "the river bridge castle of old was built near novel wrote who a film in engine canal abbey".split()
VOCABULARY = [
    "[PAD]",
    "[unused0]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    *WORDS,
    ".",
    ",",
    "##s",
    "##er",
    "##ing",
]
DIM = 32


def save(folder: Path, dim: int = DIM) -> Path:
    """Write the model to a folder: two layers of BERT, mean pooling, norm 1, at most 64 tokens."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import (
        Normalize,
        Pooling,
        Transformer,
    )
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    torch.manual_seed(0)
    size = {
        "hidden_size": dim,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 64,
    }
    config = BertConfig(vocab_size=len(VOCABULARY), max_position_embeddings=64, **size)
    ids = {piece: i for i, piece in enumerate(VOCABULARY)}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"])],
    )
    special = {
        "unk_token": "[UNK]",
        "pad_token": "[PAD]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
    }
    part = folder / "transformer"
    BertModel(config).save_pretrained(part)
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_max_length=64, **special
    ).save_pretrained(part)
    transformer = Transformer(str(part), max_seq_length=64)
    pooling = Pooling(transformer.get_embedding_dimension(), pooling_mode="mean")
    SentenceTransformer(modules=[transformer, pooling, Normalize()], device="cpu").save(
        str(folder / "model")
    )
    return folder / "model"
