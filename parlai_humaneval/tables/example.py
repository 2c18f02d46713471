"""A small made-up study, on which the examples of docstrings run. Nobody was asked; do not report its numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from parlai_humaneval.tables.columns import Row, Tables, from_rows

MODELS = ("ada", "bob", "cyd")
_GOOD = (0.75, 0.55, 0.35)  # How often a reply of each model is good
_RATERS = tuple(f"w{number}" for number in range(8))
_TURNS = range(1, 5)


def example_tables(seed: int = 1) -> Tables:
    """Answers of eight raters on three models under five techniques, the same for the same ``seed``. Select-all turns
    of three models (``sata``), single models with ticks and a final rating (``single_model``), slider ratings with a
    degraded model (``direct_assessment``), pairs of finished dialogues with reasons (``pw_dialog``), and segments
    (``spot_the_bot``)."""
    rng = np.random.default_rng(seed)
    single = list(_single(rng))
    return Tables(
        turns=from_rows("turns", [*_select_all(rng), *(row for row in single if "turn" in row)]),
        dialogues=from_rows("dialogues", list(_dialogues(rng))),
        comparisons=from_rows("comparisons", list(_comparisons(rng))),
        ratings=from_rows("ratings", [*(row for row in single if "value" in row), *_sliders(rng)]),
        segments=from_rows("segments", list(_segments(rng))),
    )


def _study(technique: str, metric: str, worker: str, setting: str = "") -> Row:
    names = {"technique": technique, "setting": setting, "metric": metric, "worker_id": worker}
    return {**names, "dialogue_status": "complete"}


def _select_all(rng: np.random.Generator) -> Iterator[Row]:
    for worker in _RATERS:
        for turn in _TURNS:
            places = rng.permutation(len(MODELS)) + 1
            for model, good, place in zip(MODELS, _GOOD, places, strict=True):
                yield {
                    **_study("sata", "preference", worker, "sata_random"),
                    "dialogue_id": f"sata-{worker}",
                    "turn": turn,
                    "model": model,
                    "position": int(place),
                    "selected": int(rng.random() < good),
                    "continued": int(place == 1),
                    "written": 0,
                    "seconds": 20.0,
                    "complete": 1,
                }


def _single(rng: np.random.Generator) -> Iterator[Row]:
    """A turn has ``turn``, the rating at the end of the dialogue ``value``."""
    for worker in _RATERS:
        for model, good in zip(MODELS, _GOOD, strict=True):
            study = {**_study("single_model", "quality", worker), "dialogue_id": f"{model}-{worker}", "model": model}
            ticked = rng.random(len(_TURNS)) < good
            for turn, tick in zip(_TURNS, ticked, strict=True):
                answer = {"position": 1, "selected": 0, "continued": 1, "written": 0, "seconds": 15.0, "complete": 1}
                yield {**study, **answer, "turn": turn, "ticks": "engaging" * bool(tick), "tick_choices": "engaging"}
            value = 1 + int(ticked.sum())
            yield {**study, "criterion": "engaging", "value": value, "scale": "likert", "minimum": 1, "maximum": 5}


def _dialogues(rng: np.random.Generator) -> Iterator[Row]:
    for number, worker in enumerate(_RATERS):
        study = {**_study("sata", "preference", worker, "sata_random"), "dialogue_id": f"sata-{worker}"}
        started = f"2024-05-01T09:{number:02}:00+00:00"
        yield {**study, "started": started, "seconds": float(rng.integers(80, 160)), "n_turns": 4, "complete": 1}


def _comparisons(rng: np.random.Generator) -> Iterator[Row]:
    for worker in _RATERS:
        for number in range(4):
            dialogue_a, dialogue_b = f"ada-{number}", f"bob-{rng.integers(4)}"
            winner = "ada" if rng.random() < 0.7 else "bob"
            yield {
                **_study("pw_dialog", "interestingness", worker),
                "item_id": f"{dialogue_a}:{dialogue_b}:{number}",
                "model_a": "ada",
                "model_b": "bob",
                "dialogue_a": dialogue_a,
                "dialogue_b": dialogue_b,
                "winner": winner,
                "seconds": 45.0,
                "side": int(rng.integers(1, 3)),
                "reason": "tells interesting stories" if winner == "ada" else "asks about me",
            }


def _sliders(rng: np.random.Generator) -> Iterator[Row]:
    for worker in _RATERS:
        for model, good in zip((*MODELS, "worse"), (*_GOOD, 0.1), strict=True):
            for criterion in ("fluent", "interesting", "robotic"):
                liked = np.clip(rng.normal(100 * good, 12), 0, 100).round()
                yield {
                    **_study("direct_assessment", "quality", worker),
                    "dialogue_id": f"slider-{model}-{worker}",
                    "model": model,
                    "criterion": criterion,
                    "value": 100 - liked if criterion == "robotic" else liked,
                    "degraded": int(model == "worse"),
                    "scale": "slider",
                }


def _segments(rng: np.random.Generator) -> Iterator[Row]:
    for worker in _RATERS:
        for first, second in ((0, 1), (0, 2), (1, 2)):
            for k in (2, 3, 5):
                for entity, own, other in ((0, first, second), (1, second, first)):
                    taken_for_human = rng.random() < _GOOD[own] ** (k / 2)
                    yield {
                        **_study("spot_the_bot", "bot", worker),
                        "dialogue_id": f"{MODELS[first]}-{MODELS[second]}-{worker}",
                        "k": k,
                        "entity": entity,
                        "model": MODELS[own],
                        "opponent": MODELS[other],
                        "label": "human" if taken_for_human else "bot",
                        "seconds": 30.0,
                    }
