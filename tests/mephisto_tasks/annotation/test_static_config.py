"""Settings of tasks on finished dialogues that do not go together are told apart, each with what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mephisto_tasks.annotation.config import StaticConfig
from mephisto_tasks.annotation.items import gather
from mephisto_tasks.config.task import ConfigError, read_config
from mephisto_tasks.launch.config import compose_config

PAIR: dict[str, Any] = {"technique": "pw_dialog", "metric": "preference", "dialogues": ["chats.jsonl"]}
SELF_CHAT: dict[str, Any] = {
    "technique": "pw_dialog",
    "metric": "humanness",
    "models": ["a", "b"],
    "generate": "self_chat",
}
SPOT: dict[str, Any] = {
    "technique": "spot_the_bot",
    "metric": "spot",
    "show": "segment",
    "segment_lengths": [2, 3, 5],
    "features": ["fluent"],
    "models": ["a", "b", "c"],
    "generate": "pairs",
    "exchanges": 5,
    "human_dialogues": ["packaged"],
    "human_share": 0.2,
}
REPLAY: dict[str, Any] = {
    "technique": "third_party",
    "metric": "own",
    "show": "replay",
    "dialogues": [{"task": "sata"}],
}
TURN: dict[str, Any] = {**REPLAY, "metric": "rank", "show": "turn"}
WHOLE: dict[str, Any] = {**REPLAY, "metric": "dimensions", "show": "whole", "scales": ["coherence", "overall"]}
DECIDED: dict[str, Any] = {"stop": "decided", "margin": 0.2, "max_dialogues": 300}
BASES = {"pair": PAIR, "self_chat": SELF_CHAT, "spot": SPOT, "replay": REPLAY, "turn": TURN, "whole": WHOLE}


def refusal(base: dict[str, Any], changes: dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as caught:
        read_config(StaticConfig, {**base, **changes})
    return str(caught.value)


@pytest.mark.parametrize("base", BASES)
def test_the_bases_of_these_tests_are_right(base: str) -> None:
    """Else the refusals below might have another cause."""
    assert read_config(StaticConfig, BASES[base]).metric == BASES[base]["metric"]


@pytest.mark.parametrize(
    ("base", "changes", "said"),
    [
        ("pair", {"models": ["a", "b", "a"]}, "a model appears twice in models: a, b, a"),
        (
            "pair",
            {"margin": 0.2},
            "margin: only studies with stop=decided use it; add stop=decided, or leave it out",
        ),
        ("spot", DECIDED, "have only 20 dialogues with each other, and each is judged once"),
        ("spot", DECIDED, "use more dialogues: num_dialogues=300"),
        ("spot", {**DECIDED, "judgements_per_item": 2}, "set judgements_per_item=1, and use more dialogues instead"),
        *(
            (show, DECIDED, "dialogues that are rated again have several raters")
            for show in ("replay", "turn", "whole")
        ),
        ("pair", {**DECIDED, "units_per_worker": 2}, "set units_per_worker=1, and set the size of the assignment with"),
        ("pair", {**DECIDED, "models": ["a", "b"], "margin": None}, "stop=decided needs a margin"),
        ("pair", {**DECIDED, "groups": [["a", "b"], ["b", "c"]]}, "leave groups out, name the models"),
        ("self_chat", {**DECIDED, "num_dialogues": 17}, "can be judged at most 289 times"),
        ("self_chat", {**DECIDED, "num_dialogues": 17}, "use more dialogues: num_dialogues=18"),
        ("pair", {"models": ["a"]}, "but one is named; name them: 'models=[a,b]'"),
        ("pair", {"groups": [["a", "b", "c"]]}, "groups are pairs of two different models"),
        ("pair", {"groups": [["a", "a"]]}, "groups are pairs of two different models"),
        ("pair", {"groups": [["a", "b"], ["b", "a"]]}, "the same two models are in two groups"),
        ("pair", {"dialogues": []}, "name the dialogues, such as 'dialogues=[chats.jsonl]'"),
        ("pair", {"metric": "wit"}, "there is no metric of two dialogues 'wit'; choose one of: preference, humanness"),
        ("pair", {"human_dialogues": ["packaged"]}, "human_dialogues are only mixed among segments"),
        ("pair", {"segment_lengths": [2]}, "segment_lengths and features need show=segment"),
        ("pair", {"features": ["fluent"]}, "segment_lengths and features need show=segment"),
        ("pair", {"scales": ["overall"]}, "scales need show=whole"),
        ("pair", {"blocking_checks": ["same_position"]}, "blocking_checks need a block_qualification"),
        ("pair", {"judged_speaker": "third"}, "judged_speaker:"),
        ("pair", {"judgements_per_group": 0}, "judgements_per_group:"),
        (
            "self_chat",
            {"models": []},
            "generate=self_chat needs models that talk to each other; name them: 'models=[a,b]'",
        ),
        ("self_chat", {"generate": "pairs"}, "show=pair cannot be combined with generate=pairs"),
        ("self_chat", {"num_dialogues": 0}, "num_dialogues:"),
        ("self_chat", {"start": "hello"}, "start:"),
        ("spot", {"models": ["a"]}, "generate=pairs needs two models or more"),
        ("spot", {"segment_lengths": []}, "segment_lengths must be different numbers of exchanges, 1 or more"),
        ("spot", {"segment_lengths": [0, 2]}, "segment_lengths must be different numbers of exchanges, 1 or more"),
        ("spot", {"segment_lengths": [2, 2]}, "segment_lengths must be different numbers of exchanges, 1 or more"),
        (
            "spot",
            {"exchanges": 4},
            "the longest segment has 5 exchanges (with 0 of the seed), but the models hold dialogues of 4",
        ),
        ("spot", {"seed_exchanges": 1}, "the longest segment has 6 exchanges (with 1 of the seed)"),
        ("spot", {"features": ["funny"]}, "there is no feature 'funny'; choose one of: fluent, specific, sensible"),
        ("spot", {"human_dialogues": []}, "human_share needs human_dialogues"),
        ("spot", {"human_share": 1.0}, "human_share:"),
        ("spot", {"judgements_per_group": 3}, "judgements_per_group needs show=pair"),
        ("replay", {"dialogues": ["chats.jsonl"]}, "show=replay needs dialogues that were rated; name live tasks"),
        ("turn", {"dialogues": [{"file": "a.jsonl"}]}, "show=turn needs dialogues that were rated; name live tasks"),
        ("replay", {"models": ["a", "b"], "generate": "pairs"}, "show=replay cannot be combined with generate=pairs"),
        ("turn", {"models": ["a", "b"], "generate": "pairs"}, "show=turn cannot be combined with generate=pairs"),
        ("replay", {"golds_per_unit": 1}, "attention checks (golds_per_unit) only exist for pairs and segments"),
        ("whole", {"scales": []}, "show=whole needs scales to rate a dialogue on, such as [coherence,overall]"),
        ("whole", {"scales": ["charm"]}, "unknown scale 'charm'; choose one of: coherence"),
        ("whole", {"scales": ["safety", "safety"]}, "these scales are listed twice: safety"),
        ("whole", {"scales": [{"name": "wit", "text": "Wit"}]}, "write your own as {name: …, text: …, hints: "),
        ("whole", {"dialogs": ["x"]}, "dialogs"),
    ],
)
def test_settings_that_do_not_go_together(base: str, changes: dict[str, Any], said: str) -> None:
    message = refusal(BASES[base], changes)
    assert said in message
    assert "\n" not in message, "one sentence, not a dump"


def test_a_question_of_ones_own_goes_with_a_metric_of_ones_own() -> None:
    config = read_config(StaticConfig, {**PAIR, "metric": "wit", "question": "Who is wittier?"})
    assert config.question == "Who is wittier?"


def test_pairs_are_those_named_or_every_two() -> None:
    three = {"models": ["a", "b", "c"]}
    assert read_config(StaticConfig, {**PAIR, **three}).pairs() == [("a", "b"), ("a", "c"), ("b", "c")]
    named = read_config(StaticConfig, {**PAIR, "groups": [["c", "a"], ["a", "d"]]})
    assert named.pairs() == [("c", "a"), ("a", "d")]
    assert named.model_names() == ["c", "a", "d"]


@pytest.mark.parametrize(
    ("of_beta", "wanted", "settings"),
    [
        (["Rain?", "Rome?"], 3, "set pairing=same_start and judgements_per_group=2"),
        (["Rain?", "Rome?", "Tea?"], 2, "set pairing=same_start"),
    ],
)
def test_the_settings_that_keep_answers_together_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], of_beta: list[str], wanted: int, settings: str
) -> None:
    """With the number of judgements only where that has to change."""
    rows = [{"question": one, "answer": "x", "model": "alpha"} for one in ("Rain?", "Rome?")]
    rows += [{"question": one, "answer": "y", "model": "beta"} for one in of_beta]
    path = tmp_path / "answers.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    gather(read_config(StaticConfig, {**PAIR, "dialogues": [str(path)], "judgements_per_group": wanted}), tmp_path, 1)
    assert capsys.readouterr().err.strip().endswith(settings)


def same_questions(tmp_path: Path) -> str:
    path = tmp_path / "answers.jsonl"
    rows = [
        {"question": q, "answer": m, "model": m}
        for m in ("alpha", "beta")
        for q in ("Rain?", "Rome?", "Tea?", "Is it?", "A?")
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    return str(path)


@pytest.mark.parametrize(("keep", "pairs", "judgements"), [(True, 5, 5), (False, 25, 20)])
def test_fewer_pairs_than_the_preset_number_stay_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], keep: bool, pairs: int, judgements: int
) -> None:
    """The study ends when each pair is judged; what was kept together is said."""
    given = {"dialogues": [same_questions(tmp_path)], "judgements_per_group": 20, "keep_pairs": keep}
    config = read_config(StaticConfig, {**PAIR, **given})
    gathered = gather(config, tmp_path, 1)
    wanted = gathered.wanted(config)
    assert wanted is not None
    assert (len(gathered.items), [*wanted.values()]) == (pairs, [judgements])
    assert ("only 5 pairs of dialogues" in capsys.readouterr().err) == keep


@pytest.mark.parametrize("changes", [{"judgements_per_group": 20, "keep_pairs": True}, {"judgements_per_group": 2}])
def test_pairs_of_a_file_stay_together_among_many_models(tmp_path: Path, changes: dict[str, Any]) -> None:
    """Each dialogue has its partner in the file, though not of every other model; models that the file never pairs are
    not compared."""
    pairs = [(a, b, n) for a, b in (("alpha", "beta"), ("alpha", "gamma"), ("gamma", "delta")) for n in range(2)]
    rows = []
    for first, second, n in pairs:
        sides = [
            {"id": f"{m}-{first}{second}{n}", "dialogue": [{"id": "person", "text": "Hi!"}, {"id": m, "text": f"{n}"}]}
            for m in (first, second)
        ]
        rows.append({"speakers_to_eval": [first, second], "dialogue_dicts": sides})
    path = tmp_path / "pairs.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    config = read_config(StaticConfig, {**PAIR, "dialogues": [str(path)], **changes})
    gathered = gather(config, tmp_path, 1)
    assert {item.dialogues for item in gathered.items} == {
        (f"{first}-{first}{second}{n}", f"{second}-{first}{second}{n}") for first, second, n in pairs
    }
    assert {*(gathered.wanted(config) or {}).values()} == {2}
    compared = read_config(StaticConfig, {**PAIR, "dialogues": [str(path)], "pairing": "any"})
    assert len({item.cell.models for item in gather(compared, tmp_path, 1).items}) == 6


@pytest.mark.parametrize("task", ["self_chat", "spot_the_bot"])
@pytest.mark.parametrize(
    ("typed", "generates", "models"),
    [
        ([], False, []),
        (["generate=''"], False, []),
        (["models=[a,b]"], True, ["a", "b"]),
        (["models=[a,b]", "generate=''"], False, ["a", "b"]),
    ],
)
def test_named_dialogues_are_judged_and_no_model_talks_first(
    task: str, typed: list[str], generates: bool, models: list[str]
) -> None:
    """Unless somebody types who should talk."""
    blueprint = compose_config(task, "local", ["dialogues=[chats.jsonl]", *typed]).mephisto.blueprint
    assert (bool(blueprint.generate), list(blueprint.models)) == (generates, models)


def test_the_choices_of_generate_can_be_typed() -> None:
    assert refusal(SELF_CHAT, {"generate": "nothing"}).endswith("choose one of: '', self_chat, pairs")


@pytest.mark.parametrize("task", ["pw_dialog", "self_chat"])
@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ([], True),
        (["judgements_per_group=20"], False),
        (["judgements_per_group=7"], False),
        (["keep_pairs=false"], False),
        (["judgements_per_group=7", "keep_pairs=true"], True),
    ],
)
def test_pairs_are_kept_only_for_the_number_of_the_preset(task: str, typed: list[str], kept: bool) -> None:
    """Who types a number means it."""
    models = ["models=[eliza,retrieval]"] + (["dialogues=[packaged]"] if task == "pw_dialog" else [])
    assert compose_config(task, "local", [*models, *typed]).mephisto.blueprint.keep_pairs is kept


def test_a_file_of_settings_with_another_number_keeps_it() -> None:
    assert not compose_config("pw_dialog", "smith2022_size_preference").mephisto.blueprint.keep_pairs
