"""A simulated study of any size with texts, for what shows dialogues: live dialogues of two models, in plain words."""

from __future__ import annotations

import string

import numpy as np
import pandas as pd

from parlai_humaneval.tables.columns import Tables, from_rows, typed

WORDS = [*string.ascii_lowercase, *(f"{letter}{letter}" for letter in string.ascii_lowercase)]


def many(dialogues: int, *, turns: int = 4, seed: int = 1) -> Tables:
    """``dialogues`` of ``turns`` turns with a choice between ``ada`` and ``bob``; every hundredth word is “zeppelin”."""
    rng = np.random.default_rng(seed)
    count = dialogues * turns
    every = np.arange(count)
    of, turn, worker = every // turns, every % turns + 1, (every // turns) % max(1, dialogues // 20)
    chosen = rng.random(count) < 0.6
    sentences = [" ".join(rng.choice(WORDS, 12)) for _ in range(400)]
    sentences[0] += " zeppelin"
    said = rng.integers(len(sentences), size=(3, count))
    seconds = np.round(rng.gamma(4, 5, count), 1)

    def rows(model: str, place: int, selected: np.ndarray) -> pd.DataFrame:
        frame: pd.DataFrame = pd.DataFrame(
            {
                "dialogue_id": [f"d{number:05}" for number in of],
                "worker_id": [f"w{number:04}" for number in worker],
                "technique": "pw_turn",
                "setting": "",
                "metric": "preference",
                "turn": turn,
                "model": model,
                "position": place,
                "selected": selected.astype(int),
                "continued": selected.astype(int),
                "written": 0,
                "seconds": seconds,
                "text": [f"{sentences[number].capitalize()}." for number in said[place - 1]],
                "human_text": [f"{sentences[number].capitalize()}?" for number in said[2]],
                "reason": np.where(turn == 1, "It answers my question.", ""),
                "complete": 1,
            }
        )
        return frame

    both = pd.concat([rows("ada", 1, chosen), rows("bob", 2, ~chosen)], ignore_index=True)
    ids = [f"d{number:05}" for number in range(dialogues)]
    languages = np.where(np.arange(dialogues) % 10 == 0, "zh", "en")
    about = pd.DataFrame(
        {
            "dialogue_id": ids,
            "worker_id": [f"w{number:04}" for number in worker[::turns]],
            "technique": "pw_turn",
            "setting": "",
            "started": "2024-05-01T09:00:00+00:00",
            "seconds": rng.integers(100, 900, dialogues),
            "n_turns": turns,
            "complete": 1,
            "language": languages,
            "checks_failed": np.where(np.arange(dialogues) % 50 == 0, "too_fast", ""),
        }
    )
    empty = from_rows("comparisons", [])
    return Tables(turns=typed("turns", both), dialogues=typed("dialogues", about), comparisons=empty)
