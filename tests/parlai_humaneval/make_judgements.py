"""Synthetic judgements of finished dialogues, built from events as a task writes them, for tests of the analysis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from make_live_records import make_choice, make_rated, make_ticked, make_verdict
from make_records import START

from parlai_humaneval.schema.events import Event, Failed, Finished, Judged, JudgingStarted
from parlai_humaneval.schema.rebuild import build_judgement
from parlai_humaneval.schema.records import (
    SCHEMA_VERSION,
    AskedQuestion,
    CriterionRecord,
    DialogueRecord,
    GivenAnswer,
    JudgementRecord,
    ReplayedRating,
    ShownDialogue,
    ShownLine,
)

METRICS = ("preference", "humanness", "interestingness")
FORM_SECONDS = 42.0


def shown(
    dialogue_id: str, entities: Sequence[str], *, position: int = 1, exchanges: int = 3, **fields: Any
) -> ShownDialogue:
    """A dialogue of ``exchanges``; its kind follows from who speaks."""
    people = [name == "human" for name in entities]
    bots = "self_chat" if entities[0] == entities[1] else "bot_bot"
    kind = "human_human" if all(people) else "human_bot" if any(people) else bots
    lines = [ShownLine(speaker=i % 2, text=f"this is line number {i} of it") for i in range(2 * exchanges)]
    values = {"dialogue_id": dialogue_id, "position": position, "kind": kind, "entities": list(entities), **fields}
    return ShownDialogue(lines=lines, **values)


def make_judgement(
    judgement_id: str,
    dialogues: Sequence[ShownDialogue],
    questions: Sequence[AskedQuestion],
    answers: Sequence[Sequence[GivenAnswer]],
    *,
    technique: str,
    end: str = "finished",
    **fields: Any,
) -> JudgementRecord:
    """The record of one item, from the events of its life; ``answers``: those of each step. ``end``: finished, failed
    or left."""
    values: dict[str, Any] = {
        "item_id": f"item-{judgement_id}",
        "metric": "preference",
        "group": sorted({name for one in dialogues for name in one.entities}),
        "settings": {},
        "seed": 5,
        "session": "s1",
        **fields,
    }
    about = {name: values.pop(name) for name in ("worker", "task_name", "checks", "unit_id") if name in values}
    events: list[Event] = [
        JudgingStarted(
            at=START,
            schema_version=SCHEMA_VERSION,
            judgement_id=judgement_id,
            technique=technique,
            dialogues=list(dialogues),
            questions=list(questions),
            **values,
        )
    ]
    events += [Judged(at=step[0].at, answers=list(step)) for step in answers]
    if end == "finished":
        events.append(Finished(at=START + 500))
    elif end == "failed":
        events.append(Failed(at=START + 500, reason="the page was lost"))
    record = build_judgement(events)
    return record.model_copy(update={"worker": "w1", "task_name": f"{technique}-demo", "task_run_id": "3", **about})


def make_pair(
    judgement_id: str,
    left: str,
    right: str,
    chosen: str | Mapping[str, str],
    *,
    worker: str = "w1",
    dialogues: tuple[str, str] | None = None,
    setting: str = "self_chat",
    seconds: float = FORM_SECONDS,
    expected: Mapping[str, str] | None = None,
    item: str | None = None,
    end: str = "finished",
    **fields: Any,
) -> JudgementRecord:
    """PW-Dialog: two dialogues side by side. ``chosen``: first, second or tie, of each metric (or of preference)."""
    names = dialogues or (f"{left}-1", f"{right}-1")
    options = {"preference": chosen} if isinstance(chosen, str) else dict(chosen)
    pair = [
        shown(name, _entities(model, setting), position=place, judged=1, source="chats.jsonl")
        for place, (name, model) in enumerate(zip(names, (left, right), strict=True), start=1)
    ]
    questions = [
        AskedQuestion(question_id=metric, text=f"Which is better in {metric}?", options={"first": "1", "second": "2"})
        for metric in options
    ]
    answers = [
        GivenAnswer(question_id=metric, option=option, reason="it listens", seconds=seconds, at=START + 60)
        for metric, option in options.items()
    ]
    return make_judgement(
        judgement_id,
        pair,
        questions,
        [answers] if end == "finished" else [],
        technique="pw_dialog",
        setting=setting,
        worker=worker,
        group=sorted((left, right)),
        item_id=item or f"{'gold:' if expected else ''}{'|'.join(sorted(names))}",
        expected=None if expected is None else dict(expected),
        end=end,
        **fields,
    )


def _entities(model: str, setting: str) -> list[str]:
    return ["human", model] if setting == "human_bot" else [model, model]


def make_pairs(
    strengths: Mapping[str, float],
    *,
    workers: int = 12,
    each: int = 6,
    setting: str = "self_chat",
    left_bias: float = 0.0,
    seed: int = 0,
) -> list[JudgementRecord]:
    """Every worker judges ``each`` pairs; a model wins with chance s / (s + s'), and left ``left_bias`` more often."""
    rng = np.random.default_rng(seed)
    models = list(strengths)
    records = []
    for worker in range(workers):
        for number in range(each):
            left, right = (models[i] for i in rng.permutation(len(models))[:2])
            chance = strengths[left] / (strengths[left] + strengths[right]) + left_bias
            chosen = "first" if rng.random() < chance else "second"
            ids = (f"{left}-{rng.integers(10)}", f"{right}-{rng.integers(10)}")
            name, seconds = f"{setting}-{worker}-{number}", float(rng.uniform(20, 90))
            records.append(
                make_pair(
                    name, left, right, chosen, worker=f"w{worker}", dialogues=ids, setting=setting, seconds=seconds
                )
            )
    return records


def make_segment(
    judgement_id: str,
    entities: Sequence[str],
    labels: Sequence[str],
    *,
    features: Mapping[str, str] | None = None,
    worker: str = "w1",
    k: int = 2,
    dialogue: str = "d1",
    setting: str = "dailydialog",
    seconds: float = 25.0,
    expected: Mapping[str, str] | None = None,
    end: str = "finished",
    **fields: Any,
) -> JudgementRecord:
    """Spot The Bot: the first ``k`` exchanges, a label for each speaker, and features by option (first, same, second)."""
    asked = {"label_0": labels[0], "label_1": labels[1], **(features or {})}
    questions = [
        AskedQuestion(
            question_id=name,
            text=f"{name}?",
            about=int(name[-1]) if name.startswith("label") else None,
            options={option: option for option in ("human", "unsure", "bot")},
        )
        for name in asked
    ]
    answers = [
        GivenAnswer(question_id=name, option=option, seconds=seconds, at=START + 30) for name, option in asked.items()
    ]
    return make_judgement(
        judgement_id,
        [shown(dialogue, entities, exchanges=k, k=k)],
        questions,
        [answers] if end == "finished" else [],
        technique="spot_the_bot",
        setting=setting,
        metric="spot",
        worker=worker,
        group=sorted(entities),
        item_id=f"{'gold:' if expected else ''}{dialogue}:{k}",
        expected=None if expected is None else dict(expected),
        end=end,
        **fields,
    )


def replayed(record: DialogueRecord) -> ReplayedRating:
    """What a live dialogue's own rater was asked and said."""
    return ReplayedRating(
        technique=record.technique,
        setting=record.setting,
        metric=record.metric,
        question=record.question,
        worker=record.worker,
        task_name=record.task_name,
        turns=record.turns,
        turn_criteria=record.turn_criteria,
        criteria=record.criteria,
        final_ratings=record.final_ratings,
        verdict=record.verdict,
        verdict_model=record.verdict_model,
    )


def make_replay(
    judgement_id: str,
    record: DialogueRecord,
    turns: Sequence[Sequence[str]] = (),
    *,
    final: Mapping[str, float] | None = None,
    verdict: str | None = None,
    worker: str = "t1",
    end: str = "finished",
    **fields: Any,
) -> JudgementRecord:
    """A live dialogue rated once more. ``turns``: models chosen (or what was ticked) in each turn of it."""
    ticks = bool(record.turn_criteria)
    options = {criterion.name: criterion.text for criterion in record.turn_criteria}
    kind = "tick" if ticks else "choose"
    questions = [AskedQuestion(question_id="turn", text=record.question, kind=kind, options=options)] if turns else []
    answers = []
    for turn, said in zip(record.turns, turns, strict=False):
        ids = list(said) if ticks else [c.candidate_id for c in turn.candidates if c.model in said]
        answers.append(
            [_given("turn", START + 10 * turn.turn, turn=turn.turn, selected=ids, none_said=not ids, reason="so")]
        )
    if final is not None:
        questions.append(AskedQuestion(question_id="final", text="How was it?", kind="rate", criteria=record.criteria))
        answers.append([_given("final", START + 300, ratings=dict(final))])
    if verdict is not None:
        questions.append(AskedQuestion(question_id="verdict", text="Who is better?", kind="tick"))
        answers.append([_given("verdict", START + 310, selected=[verdict])])
    return _third(judgement_id, record, questions, answers, worker=worker, end=end, metric="own", **fields)


def make_ranking(
    judgement_id: str,
    record: DialogueRecord,
    turn: int,
    places: Mapping[str, int],
    *,
    worker: str = "t1",
    **fields: Any,
) -> JudgementRecord:
    """All replies of one turn ranked: model → place."""
    own = next(one for one in record.turns if one.turn == turn)
    ranks = {c.candidate_id: places[c.model] for c in own.candidates if c.model in places}
    questions = [AskedQuestion(question_id="rank", text="Rank the replies.", kind="rank")]
    answers = [[_given("rank", START + 10, turn=turn, ranks=ranks)]]
    return _third(judgement_id, record, questions, answers, worker=worker, metric="rank", **fields)


def make_whole(
    judgement_id: str,
    dialogue: ShownDialogue,
    ratings: Mapping[str, float],
    *,
    worker: str = "t1",
    end: str = "finished",
    **fields: Any,
) -> JudgementRecord:
    """A whole dialogue rated on scales (Ma et al. 2023, Table 3)."""
    criteria = [
        CriterionRecord(name=name, text=f"{name}?", scale="points", minimum=1, maximum=5 if name == "overall" else 3)
        for name in ratings
    ]
    questions = [AskedQuestion(question_id="rate", text="Rate it.", kind="rate", criteria=criteria)]
    answers = [[_given("rate", START + 10, ratings=dict(ratings))]]
    return make_judgement(
        judgement_id,
        [dialogue],
        questions,
        answers,
        technique="third_party",
        setting="whole",
        metric="dimensions",
        worker=worker,
        end=end,
        **fields,
    )


def _third(
    judgement_id: str,
    record: DialogueRecord,
    questions: Sequence[AskedQuestion],
    answers: Sequence[Sequence[GivenAnswer]],
    **fields: Any,
) -> JudgementRecord:
    bot = "+".join(model.name for model in record.models)
    dialogue = shown(record.dialogue_id, ["human", bot], judged=1, replayed=replayed(record))
    group = [model.name for model in record.models]
    return make_judgement(judgement_id, [dialogue], questions, answers, technique="third_party", group=group, **fields)


def _given(name: str, at: float, *, seconds: float = 9.0, **values: Any) -> GivenAnswer:
    return GivenAnswer(question_id=name, at=at, seconds=seconds, **values)


def one_of_each() -> list[JudgementRecord]:
    """A judgement of every kind, so that every column of every table is filled somewhere."""
    live = make_choice("live1", [("a",), ("b",)])
    pair = make_pair("j1", "a", "b", dict.fromkeys(METRICS, "first"), unit_id="u1").model_copy(
        update={"assignment_id": "a1", "feedback": "nice", "failure": "late", "refused_answers": 1}
    )
    verdict = make_verdict("live4", "a")
    return [
        pair,
        make_segment(
            "j2", ("a", "b"), ("human", "bot"), features={"fluent": "first", "sensible": "same", "specific": "second"}
        ),
        make_segment(
            "j3", ("x", "y"), ("bot", "bot"), expected={"label_0": "bot"}, checks={"failed_gold": {"passed": False}}
        ),
        make_replay("j4", live, [("a",), ("a",)]),
        make_replay(
            "j5", make_ticked("live2", [["engaging"], ["humanlike"]]), [["engaging"], []], final={"engaging": 3.0}
        ),
        make_replay("j6", verdict, verdict="b"),
        make_ranking("j7", live, 1, {"a": 1, "b": 2}),
        make_whole("j8", shown("d8", ("a", "a")), {"coherence": 2, "overall": 4}),
        make_replay("j9", make_rated("live5", "a", {"fluent": 50.0}), final={"fluent": 40.0}),
    ]


def make_spotting(
    passing: Mapping[str, float],
    *,
    workers: int = 12,
    dialogues: int = 6,
    lengths: Sequence[int] = (2, 3, 5),
    raters: int = 2,
    seed: int = 0,
) -> list[JudgementRecord]:
    """Every pair of models talks ``dialogues`` times, and people as often; each segment is judged by ``raters``.

    ``passing``: chance of a model (and of ``human``) to be taken for a person after the shortest segment; it falls with k
    for models. The rest is unsure or bot.
    """
    rng = np.random.default_rng(seed)
    bots = [name for name in passing if name != "human"]
    pairs = [(a, b) for i, a in enumerate(bots) for b in bots[i + 1 :]]
    pairs += [("human", "human")] if "human" in passing else []
    records = []
    for pair in pairs:
        for number in range(dialogues):
            entities = list(pair) if number % 2 else list(pair)[::-1]
            for k in lengths:
                for worker in rng.choice(workers, size=raters, replace=False):
                    labels = [_label(rng, passing[name], k - lengths[0] if name != "human" else 0) for name in entities]
                    features = {
                        name: str(rng.choice(["first", "same", "second"]))
                        for name in ("fluent", "sensible", "specific")
                    }
                    name = f"{'-'.join(pair)}-{number}"
                    records.append(
                        make_segment(
                            f"{name}-{k}-{worker}",
                            entities,
                            labels,
                            features=features,
                            worker=f"w{worker}",
                            k=k,
                            dialogue=name,
                            seconds=float(rng.uniform(10, 60)),
                        )
                    )
    return records


def _label(rng: np.random.Generator, chance: float, later: int) -> str:
    if rng.random() < chance * 0.8**later:
        return "human"
    return "unsure" if rng.random() < 0.2 else "bot"


def make_third_party(
    models: Sequence[str] = ("a", "b", "c"), *, dialogues: int = 12, turns: int = 5, raters: int = 2, seed: int = 0
) -> list[JudgementRecord]:
    """Chosen replies rated once more (mostly as by their own rater), ranked, and whole dialogues on scales."""
    rng = np.random.default_rng(seed)
    records = []
    for number in range(dialogues):
        picks = [[m for m in models if rng.random() < 0.5] for _ in range(turns)]
        live = make_choice(f"live{number}", picks, models=models, worker=f"w{number}")
        for rater in range(raters):
            worker = f"t{(number + rater) % 5}"
            again = [[m for m in models if (m in own) ^ (rng.random() < 0.2)] for own in picks]
            records.append(make_replay(f"r{number}-{rater}", live, again, worker=worker))
            turn = int(rng.integers(1, turns + 1))
            order = rng.permutation(len(models)) + 1
            places = {model: int(place) for model, place in zip(models, order, strict=True)}
            records.append(make_ranking(f"k{number}-{rater}", live, turn, places, worker=worker))
            model = models[number % len(models)]
            scores = {"coherence": int(rng.integers(1, 4)), "overall": int(rng.integers(1, 6))}
            chat = shown(f"chat{number}", (model, model), judged=0)
            records.append(make_whole(f"s{number}-{rater}", chat, scores, worker=worker))
    return records
