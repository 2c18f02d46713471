"""TransferTransfo learns with ParlAI's commands, is evaluated by them, and speaks in a pool."""

from __future__ import annotations

import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import log
from pathlib import Path
from typing import Any

import pytest
import torch
from scipy.stats import binomtest
from tiny_gpt2 import evaluate, make_gpt2, train, write_dialogues
from warm_python import WarmPython

from parlai_humaneval.models.baselines.transfer_transfo import OWN_TOKENS
from parlai_humaneval.models.model_pool import ModelPool
from parlai_humaneval.models.pool.loading import load_agent
from parlai_humaneval.models.zoo.entries import ModelSpec

CHANCE = 0.2
HELD_OUT = 62


@dataclass(frozen=True)
class Trained:
    """Model files, and reports of the held-out dialogues."""

    untaught: dict[str, float]
    both_heads: Path
    both_report: dict[str, float]
    speaking_head: Path
    speaking_report: dict[str, float]
    gpt2: Path
    dialogues: Path


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """Two models from one start, one with both heads and one with the speaking head alone; and their start."""
    folder = tmp_path_factory.mktemp("transfer_transfo")
    gpt2, dialogues = make_gpt2(folder / "gpt2"), write_dialogues(folder)
    both, speaking = (folder / name / "model" for name in ("both", "speaking"))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        train(gpt2, dialogues, both)
        # What a GPU is to train with changes nothing on a processor but the dictionary, which is padded.
        gpu: dict[str, Any] = {
            "fp16": True,
            "lr_scheduler": "linear",
            "weight_decay": 0.01,
            "update_freq": 2,
            "batchsize": 8,
            "max_train_steps": 70,
        }
        train(gpt2, dialogues, speaking, mc_coef=0.0, **gpu)
        reports = [evaluate(gpt2, dialogues, file) for file in (both, speaking)]
        untaught = evaluate(gpt2, dialogues, None)
    finally:
        torch.set_num_threads(threads)
    shutil.move(gpt2, folder / "gone")  # from here on, all must come from beside the models
    return Trained(untaught, both, reports[0], speaking, reports[1], gpt2, dialogues)


def spec(model_file: Path, name: str = "tiny_transfo", **options: Any) -> ModelSpec:
    fixed = {"model_file": str(model_file), "skip_generation": False, "no_cuda": True}
    return ModelSpec(name=name, options={**fixed, **options})


def p_of_chance(report: dict[str, float]) -> float:
    """How likely at least so many true replies are ranked first among five by guessing."""
    assert report["exs"] == HELD_OUT
    return float(binomtest(round(report["hits@1"] * HELD_OUT), HELD_OUT, CHANCE, alternative="greater").pvalue)


def test_the_multiple_choice_head_learns_to_tell_the_true_reply(trained: Trained) -> None:
    """Guards the second head: held-out dialogues, ranked far above chance by it, and by nothing else that was learnt.

    Of 62 true replies, each among five, guessing finds 12; 30 or more it finds 5 times in 10⁷.
    """
    assert p_of_chance(trained.both_report) < 1e-6
    assert trained.both_report["mc_loss"] < 0.75 * log(5)
    for unlearnt in (trained.speaking_report, trained.untaught):
        assert p_of_chance(unlearnt) > 1e-3
        assert unlearnt["mc_loss"] > 0.9 * log(5)
    assert trained.both_report["hits@5"] == 1.0, "five are ranked among five"


def test_the_language_modelling_head_learns_to_say_it(trained: Trained) -> None:
    """Guards the first head, with and without the second: held-out replies are no longer a surprise."""
    assert trained.untaught["ppl"] > 400
    for learnt in (trained.both_report, trained.speaking_report):
        assert learnt["ppl"] < 5
        assert learnt["token_acc"] > 0.7


def test_candidates_of_the_task_are_ranked_where_there_are_any(trained: Trained, tmp_path: Path) -> None:
    """Guards hits@1 as the paper has it, among the task's own candidates, and hits@5 when there are more than five."""
    data = Path(f"{trained.dialogues}_valid.txt").read_text(encoding="utf-8").splitlines()
    replies = [line.split("\tlabels:")[1].split("\t")[0] for line in data]
    lines = []
    for number, line in enumerate(data[:30]):
        others = [reply for reply in dict.fromkeys(replies[number:] + replies) if reply != replies[number]][:9]
        lines.append(f"{line}\tlabel_candidates:{'|'.join([*others[:4], replies[number], *others[4:]])}")
    for fold in ("train", "valid", "test"):
        (tmp_path / f"data_{fold}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    ranked = evaluate(trained.gpt2, tmp_path / "data", trained.both_heads)
    assert 0.3 < ranked["hits@1"] <= ranked["hits@5"]
    assert ranked["hits@10"] == 1.0
    assert evaluate(trained.gpt2, tmp_path / "data", trained.speaking_head)["hits@5"] < 0.8
    assert "hits@1" not in evaluate(trained.gpt2, tmp_path / "data", trained.both_heads, rank_candidates=False)


LENGTHS = (1, 4, 2, 7, 3, 1, 5)
"""Exchanges of some dialogues: they end within batches of any size, the last one too."""


@pytest.fixture(scope="module")
def long_dialogues(trained: Trained, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Dialogues of several lengths, made of the held-out exchanges."""
    folder = tmp_path_factory.mktemp("long")
    exchanges = iter(Path(f"{trained.dialogues}_valid.txt").read_text(encoding="utf-8").splitlines())
    lines = []
    for length in LENGTHS:
        lines += [next(exchanges).removesuffix("\tepisode_done:True") for _ in range(length)]
        lines[-1] += "\tepisode_done:True"
    for fold in ("train", "valid", "test"):
        (folder / f"dialogues_{fold}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder / "dialogues"


def test_scores_of_ranking_do_not_depend_on_the_batch_size(trained: Trained, long_dialogues: Path) -> None:
    """Guards hits@1 and the loss: the true reply is set beside the same wrong ones, whatever stands in its batch."""
    reports = {
        size: evaluate(trained.gpt2, long_dialogues, trained.both_heads, batchsize=size, datatype=fold)
        for size, fold in ((1, "valid"), (4, "valid"), (8, "test"), (64, "valid"))
    }
    scores = [(report["exs"], report["hits@1"], report["mc_loss"]) for report in reports.values()]
    assert scores[0][0] == sum(LENGTHS)
    assert scores == [scores[0]] * len(scores)


def test_what_is_said_fits_and_shows_no_tokens(trained: Trained) -> None:
    """Guards generation from a trained model: it ends by itself, about the topic, in words."""
    with ModelPool([spec(trained.both_heads, inference="greedy")]) as pool:
        speaker = pool.speaker(["tiny_transfo"], seed=1)
        speaker.observe({"text": "Do you like cats?"})
        said = speaker.act()["text"]
    assert "cats" in said
    assert said.endswith("."), "it did not come to an end"
    assert not any(token in said for token in OWN_TOKENS)


def test_a_model_for_speaking_has_no_optimiser(trained: Trained) -> None:
    """Guards memory: ``datatype valid``, as the pool loads it."""
    assert not hasattr(load_agent(spec(trained.both_heads)), "optimizer")


def test_a_fresh_process_needs_only_what_lies_beside_the_model(
    trained: Trained, tmp_path: Path, warm: WarmPython
) -> None:
    """Guards moving a model to another machine: no hub, no folder that training began from."""
    assert not trained.gpt2.exists()
    code = (
        "import sys; from pathlib import Path; from test_transfer_transfo_training import spec, load_agent\n"
        "agent = load_agent(spec(Path(sys.argv[1]), inference='greedy'))\n"
        "agent.observe({'text': 'Do you like dogs?', 'episode_done': False}); print('SAID', agent.act()['text'])"
    )
    (tmp_path / "speaks.py").write_text(code, encoding="utf-8")
    environment = {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    done = warm.run(str(tmp_path / "speaks.py"), str(trained.speaking_head), env=environment)
    assert done.returncode == 0, done.stderr
    here = reply_of(load_agent(spec(trained.speaking_head, inference="greedy")))
    assert done.stdout.strip().endswith(f"SAID {here}")


def test_eight_conversations_speak_in_a_pool_beside_another_model(trained: Trained) -> None:
    """Guards the pool: batches of conversations get the replies that each would get alone, by its own seed."""
    specs = [
        spec(trained.both_heads),
        ModelSpec(name="eliza", options={"model": "parlai_humaneval.agents.eliza:ElizaAgent"}),
    ]

    def talk(pool: ModelPool, seed: int) -> list[str]:
        speaker = pool.speaker(["tiny_transfo", "eliza"], seed=seed, personas={"tiny_transfo": ["I like cats."]})
        said = []
        for text in ("Do you like dogs?", "Tell me about rain.", "What do you think of tea?"):
            speaker.observe({"text": text})
            candidates = {candidate["model"]: candidate for candidate in speaker.act()["candidates"]}
            said.append(candidates["tiny_transfo"]["text"])
            speaker.accept(candidates["eliza"]["candidate_id"])
        return said

    with ModelPool(specs) as pool, ThreadPoolExecutor(8) as threads:
        together = list(threads.map(lambda seed: talk(pool, seed), range(8)))
        assert max(pool.worker("tiny_transfo").batch_sizes) > 1
    with ModelPool(specs) as pool:
        assert [talk(pool, seed) for seed in range(8)] == together
    assert all(text and not any(token in text for token in OWN_TOKENS) for said in together for text in said)
    assert len({tuple(said) for said in together}) > 1, "seeds that change nothing would prove nothing"


def test_two_names_with_one_checkpoint_share_its_weights(trained: Trained) -> None:
    """Guards memory, and that each name keeps its own way of speaking."""
    short = spec(trained.both_heads, "short", inference="greedy", label_truncate=2, max_history=0)
    with ModelPool([spec(trained.both_heads, "long", inference="greedy"), short]) as pool:
        long_agent, short_agent = (pool.worker(name).clone() for name in ("long", "short"))
        assert long_agent.model is short_agent.model
        assert len(long_agent.dict.txt2vec(reply_of(long_agent))) > len(short_agent.dict.txt2vec(reply_of(short_agent)))
        assert (long_agent.history._kept, short_agent.history._kept) == (5, 1)


def reply_of(agent: Any) -> str:
    agent.observe({"text": "Do you like dogs?", "episode_done": False})
    return str(agent.act()["text"])
