"""Groups of labelled pairs -> a cross-encoder, by sentence-transformers' trainer; interrupted, it goes on where it was.

The loss is RankNet's [1]: the logit of a needed passage against that of every other of its group, as the step model of
`mention_chains` is fitted. The initial weights are the sentence encoder's; what tokens mean and its first layers stay.

[1] Burges et al., "Learning to Rank using Gradient Descent", ICML 2005.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kg2rag.compute import processor, threads
from kg2rag.experiments.fitting.cross_pairs import Group
from kg2rag.retrievers.mention_chains.cross import MAX_TOKENS

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

SETTINGS = {"groups_a_step": 4, "epochs": 1, "learning_rate": 1e-4, "head_learning_rate": 1e-3, "frozen_layers": 4}
SAVED = 20  # steps between two checkpoints
_FROZEN = re.compile(r"\.embeddings\.|\.layer\.(\d+)\.")
MISSING = "the trainer needs the package accelerate: pip install 'kg2rag[train]'."


def trained(base: str, groups: Sequence[Group], checkpoints: Path, seed: int) -> tuple[CrossEncoder, dict[str, object]]:
    """The network after the last step, in evaluation mode, and a record of the training.

    Parameters
    ----------
    base : folder or hub name of the initial weights. Its classifier, where it has none, is drawn by `seed`.
    checkpoints : folder of this training alone; one that is there is continued, and ends in the same weights.

    Raises
    ------
    ImportError : the extra `train` is not installed.
    """
    from transformers.utils import is_accelerate_available

    if not is_accelerate_available():
        raise ImportError(MISSING)
    import torch
    from datasets import Dataset
    from sentence_transformers.cross_encoder import CrossEncoderTrainer, losses
    from transformers import set_seed
    from transformers.trainer_utils import get_last_checkpoint

    set_seed(seed)
    torch.set_num_threads(threads())
    network = network_from(base)
    freeze(network, int(SETTINGS["frozen_layers"]))
    columns = {
        "question": [each.question for each in groups],
        "passages": [list(each.passages) for each in groups],
        "labels": [list(each.labels) for each in groups],
    }
    checkpoints.mkdir(parents=True, exist_ok=True)
    trainer = CrossEncoderTrainer(
        model=network,
        args=_arguments(checkpoints, seed),
        train_dataset=Dataset.from_dict(columns),
        loss=losses.RankNetLoss(network, mini_batch_size=8),
    )
    done = trainer.train(resume_from_checkpoint=get_last_checkpoint(str(checkpoints)))
    return network.eval(), {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        **{name.replace("-", "_"): version(name) for name in ("sentence-transformers", "torch", "transformers")},
        "processor": processor(),
        "device": str(network.device),
        "threads": threads(),
        "groups": len(groups),
        "pairs": sum(len(each.passages) for each in groups),
        "steps": done.global_step,
        "loss_first": trainer.state.log_history[0].get("loss", done.training_loss),
        "loss_mean": round(done.training_loss, 4),
    }


def network_from(base: str) -> CrossEncoder:
    """The network before training: one output, which is the logit."""
    from sentence_transformers.cross_encoder import CrossEncoder
    from torch.nn import Identity

    return CrossEncoder(base, num_labels=1, max_length=MAX_TOKENS, activation_fn=Identity())


def freeze(network: CrossEncoder, layers: int) -> None:
    """Leave the embeddings and the first layers as they are: fewer numbers for few questions, and a third less work."""
    for name, parameter in network.named_parameters():
        if (found := _FROZEN.search(name)) and (found[1] is None or int(found[1]) < layers):
            parameter.requires_grad_(False)


def _arguments(checkpoints: Path, seed: int) -> Any:
    from sentence_transformers.cross_encoder import CrossEncoderTrainingArguments

    return CrossEncoderTrainingArguments(
        output_dir=str(checkpoints),
        num_train_epochs=SETTINGS["epochs"],
        per_device_train_batch_size=int(SETTINGS["groups_a_step"]),
        learning_rate=SETTINGS["learning_rate"],
        learning_rate_mapping={r"classifier": SETTINGS["head_learning_rate"]},
        warmup_steps=0.1,
        lr_scheduler_type="linear",
        weight_decay=0.01,
        seed=seed,
        data_seed=seed,
        save_strategy="steps",
        save_steps=SAVED,
        save_total_limit=2,
        logging_steps=SAVED,
        report_to="none",
        dataloader_pin_memory=False,
    )
