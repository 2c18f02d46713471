"""Where nothing differs nobody leads: of every technique, in every sentence of a report and on its leaderboard."""

from __future__ import annotations

import math
import re
from io import StringIO
from itertools import combinations, permutations
from pathlib import Path

import choix
import pytest
from make_judgements import make_pair, make_ranking, make_segment
from make_live_records import SLIDERS, TICKS, make_choice, make_rated, make_ticked, make_verdict
from rich.console import Console

from parlai_humaneval.report.build import build_report, tables_of
from parlai_humaneval.report.render.leaderboard import leaderboard_of, to_page
from parlai_humaneval.report.render.terminal import print_document
from parlai_humaneval.report.section import Options
from parlai_humaneval.report.summary import leading
from parlai_humaneval.tables.build import Tables, tables
from parlai_humaneval.tables.columns import from_rows
from parlai_humaneval.techniques.registry import techniques

OPTIONS = Options(draws=20)
NAMES = ("ada", "bob", "cyd")
SHARED = Path(__file__).resolve().parents[4] / "shared"
LEADS = re.compile(
    r"\b(ada|bob|cyd) (leads|ranks|wins|passes|is ahead|is the strongest|is rated best|has the highest|was rated \S+ points)"
    r"|[Bb]est first|the clearest: (ada|bob|cyd) is ahead"
)
VOTES = {("weak", "bottom"): (90, 10), ("champ", "strong"): (55, 45)} | {
    (better, worse): (5, 0) for better in ("champ", "strong") for worse in ("bottom", "weak")
}
"""Who lost to both of the two best, and beat only the worst: no finite strengths compare the two groups."""
SHARE = {"equal": 0.5, "zero": 0.0, "one": 1.0}


def picks(models, how, turns=6, *, one=False):
    """What is chosen in each turn: each model as often as any other, none, or all."""
    if how == "zero" and not one:
        return [()] * turns
    if how == "one" and not one:
        return [tuple(models)] * turns
    return [(models[turn % len(models)],) for turn in range(turns)]


def pw_turn(models, workers, how):
    return [
        make_choice(
            f"pw-{w}-{a}-{b}", picks((a, b), how, one=True), models=(a, b), worker=w, technique="pw_turn", setting=""
        )
        for w in workers
        for a, b in combinations(models, 2) or [(models[0], models[0])]
    ]


def sata(models, workers, how):
    return [make_choice(f"sata-{w}", picks(models, how), models=models, worker=w) for w in workers]


def single_model(models, workers, how):
    ticked = {"zero": [(), ()], "one": [TICKS, TICKS]}.get(how, [TICKS, ()])
    ratings = dict.fromkeys(TICKS, {"zero": 1.0, "one": 5.0}.get(how, 3.0))
    return [make_ticked(f"single-{w}-{m}", ticked, model=m, worker=w, ratings=ratings) for w in workers for m in models]


def free_for_all(models, workers, how):
    same = {"models": models, "technique": "free_for_all", "setting": ""}
    # Each order of the points as often as any other, so that no model has won more often.
    orders = list(permutations(models))
    return [
        make_choice(f"ffa-{w}-{i}", picks(order, how), worker=w, **same)
        for w in workers
        for i, order in enumerate(orders)
    ]


def arena(models, workers, how):
    verdicts = {"zero": ["both_bad"], "one": ["tie"]}.get(how, ["a", "b"])
    return [
        make_verdict(f"arena-{w}-{a}-{b}-{v}", v, models=(a, b), worker=w)
        for w in workers
        for a, b in combinations(models, 2)
        for v in verdicts
    ]


def direct_assessment(models, workers, how):
    given = dict.fromkeys(SLIDERS, 100 * SHARE.get(how, 0.5))
    if how in ("equal", "one_rater", "one_model"):
        given |= {"fun": 70.0, "fluent": 20.0}
    return [
        make_rated(f"da-{w}-{m}", m, given, worker=w, degraded="qc", session=w)
        for w in workers
        for m in (*models, "qc")
    ]


def pw_dialog(models, workers, how, setting="self_chat"):
    options = {"zero": ["tie"], "one": ["tie"]}.get(how, ["first", "second"])
    return [
        make_pair(
            f"{w}-{a}-{b}-{o}", a, b, o, worker=w, setting=setting, dialogues=(f"{w}{a}{b}{o}1", f"{w}{a}{b}{o}2")
        )
        for w in workers
        for a, b in combinations(models, 2)
        for o in options
    ]


def spot_the_bot(models, workers, how):
    labels = {"zero": [("bot", "bot")], "one": [("human", "human")]}.get(how, [("human", "bot"), ("bot", "human")])
    pairs = list(combinations(models, 2)) or [(models[0], models[0])]
    return [
        make_segment(f"{w}-{a}-{b}-{i}-{k}", (a, b), label, worker=w, k=k, dialogue=f"{w}{a}{b}{i}")
        for w in workers
        for a, b in pairs
        for i, label in enumerate(labels)
        for k in (2, 5)
    ]


def third_party(models, workers, how):
    lives = [make_choice(f"live-{w}", [models[:1]], models=models) for w in workers]
    orders = [range(1, len(models) + 1)] if len(models) == 1 else list(permutations(range(1, len(models) + 1)))
    places = [[1] * len(models)] if how in ("zero", "one") else orders
    return [
        make_ranking(f"{w}-{i}", live, 1, dict(zip(models, order, strict=True)), worker=f"t{w}{i}")
        for w, live in zip(workers, lives, strict=True)
        for i, order in enumerate(places)
    ]


MAKERS = {
    "pw_turn": pw_turn,
    "sata": sata,
    "single_model": single_model,
    "free_for_all": free_for_all,
    "arena": arena,
    "direct_assessment": direct_assessment,
    "pw_dialog": pw_dialog,
    "spot_the_bot": spot_the_bot,
    "third_party": third_party,
}


def test_every_technique_is_held_to_this():
    """A new technique needs tables of equal models here."""
    assert {*MAKERS, "self_chat"} == set(techniques()), "whose dialogues are compared as those of pw_dialog are"


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("technique", "how"),
    [(technique, "equal") for technique in MAKERS]
    + [("", how) for how in ("zero", "one", "one_rater", "two_models", "one_model")],
)
def test_no_sentence_names_a_leader_where_nothing_differs(technique, how):
    """Guards a leader by the alphabet; and every answer still says something. Of each technique alone, and of all at once
    where what was given is the least or the most, and where few took part."""
    models = NAMES[: {"one_model": 1, "two_models": 2}.get(how, 3)]
    workers = ["w0"] if how == "one_rater" else [f"w{number}" for number in range(3)]
    made = [make(models, workers, how) for name, make in MAKERS.items() if technique in ("", name)]
    document = build_report(tables([record for records in made for record in records]), OPTIONS)
    stream = StringIO()
    print_document(document, Console(file=stream, width=10_000, highlight=False))
    board = leaderboard_of(document)
    found = LEADS.search(f"{stream.getvalue()} {to_page(board)} {' '.join(one.told for one in board.boards)}")
    assert found is None, found
    assert len(document.headline()) > 20
    for answer in document.summaries():
        assert answer.best is None or answer.best.leader is None
        assert answer.verdict.endswith(".")
        assert not re.search(r"\bnan\b|\bNone (?!of)|– %| –[ ,;.]", answer.verdict), answer.verdict
        assert {(line.rank_low, line.rank_high) for line in answer.models} <= {(None, None), (1, len(models))}


def compared(votes, workers=25):
    """Tables of finished dialogues compared: winners of each pair, whose rows are in the order of ``votes``."""
    rows, item = [], 0
    for (a, b), (won, lost) in votes.items():
        for winner in [a] * won + [b] * lost:
            rows.append(
                {"item_id": f"i{item}", "worker_id": f"w{item % workers}", "metric": "preference", "winner": winner}
                | {"model_a": min(a, b), "model_b": max(a, b), "dialogue_a": f"{item}a", "dialogue_b": f"{item}b"}
            )
            item += 1
    return Tables(
        turns=from_rows("turns", []), dialogues=from_rows("dialogues", []), comparisons=from_rows("comparisons", rows)
    )


def case(name):
    """A case that the issue came with; the tables of the same kind that always run are of this file."""
    folder = SHARED / "cases" / name
    if not folder.is_dir():
        pytest.skip(f"{folder} is not here")
    return tables_of(folder)


@pytest.mark.usefixtures("only_answers")
@pytest.mark.parametrize("source", ["made here", "the case"])
def test_a_model_that_lost_to_two_does_not_lead(source):
    """Bradley–Terry has no finite maximum, but champ and strong rank above weak and bottom, whatever share weak won."""
    data = compared(VOTES) if source == "made here" else case("D4_leader_who_lost_to_all/votes")
    document = build_report(data, OPTIONS)
    (answer,) = document.summaries()
    assert [line.model for line in answer.models] == ["champ", "strong", "weak", "bottom"]
    assert answer.best.leader == "champ"
    assert "champ ranks first, statistically tied with strong and weak" in answer.verdict
    assert any(remark.startswith("weak and bottom were never chosen over champ or strong") for remark in answer.remarks)
    assert any("weak never won over strong" in remark for remark in answer.remarks)
    strengths = {
        row.model: (round(row["strength"], 2), row.strength_note) for row in document.sections["comparisons"].models
    }
    log = round(math.log(55 / 45) / 2, 2)
    assert strengths == {
        "champ": (log, "among champ and strong"),
        "strong": (-log, "among champ and strong"),
        "weak": (1.1, "among weak and bottom"),
        "bottom": (-1.1, "among weak and bottom"),
    }
    (board,) = leaderboard_of(document).boards
    assert [one.model for one in board.standings] == ["champ", "strong", "weak", "bottom"]
    assert board.told.startswith("champ ranks first")
    assert "the values do not always fall from rank to rank" in board.told


@pytest.mark.usefixtures("only_answers")
def test_the_order_is_that_of_the_slightest_penalty():
    """Guards the order of groups against another way to make strengths finite (a weak prior on each)."""
    (answer,) = build_report(compared(VOTES), OPTIONS).summaries()
    models = [line.model for line in answer.models]
    won = [(models.index(a), models.index(b)) for (a, b), (n, _) in VOTES.items() for _ in range(n)]
    won += [(models.index(b), models.index(a)) for (a, b), (_, n) in VOTES.items() for _ in range(n)]
    strengths = choix.opt_pairwise(4, won, alpha=1e-6)
    assert strengths.round(1).tolist() == [7.1, 6.9, -5.9, -8.1]


@pytest.mark.usefixtures("only_answers")
def test_groups_that_never_met_are_not_ordered():
    """Nobody leads, with the reason; each group has strengths of its own; the leaderboard says the same."""
    document = build_report(compared({("weak", "bottom"): (90, 10), ("champ", "strong"): (55, 45)}), OPTIONS)
    (answer,) = document.summaries()
    assert answer.best.leader is None
    assert answer.best.unordered == [["champ", "strong"], ["weak", "bottom"]]
    why = "No model leads: no answer ranks champ and strong above or below weak and bottom, directly or through other models"
    assert why in answer.verdict
    assert all(row["strength"] is not None for row in document.sections["comparisons"].models)
    (board,) = leaderboard_of(
        document, blind={name: name.upper() for name in ("champ", "strong", "weak", "bottom")}
    ).boards
    assert board.told.startswith("No model leads: no answer ranks CHAMP and STRONG above or below WEAK and BOTTOM")


@pytest.mark.usefixtures("only_answers")
def test_nobody_leads_in_a_circle():
    """Each lost to another one, and the report and the leaderboard say so."""
    document = build_report(compared({("a", "b"): (24, 0), ("b", "c"): (24, 0), ("c", "a"): (24, 0)}, 12), OPTIONS)
    (answer,), (board,) = document.summaries(), leaderboard_of(document).boards
    assert answer.verdict.endswith("No model leads: a, b and c beat each other in a circle.")
    assert board.told == "No model leads: a, b and c beat each other in a circle."


def chosen(votes, technique, setting, workers=25):
    """Dialogues of one turn each that show two models, of which one is chosen."""
    return [
        make_choice(
            f"{a}{b}{i}",
            [(a if i < won else b,)],
            models=(a, b),
            worker=f"w{i % workers}",
            technique=technique,
            setting=setting,
            started=1_700_000_000 + i,
        )
        for (a, b), (won, lost) in votes.items()
        for i in range(won + lost)
    ]


@pytest.mark.usefixtures("only_answers")
@pytest.mark.parametrize(
    ("technique", "setting"), [("pw_turn", ""), ("sata", "soba"), ("sata", "sata_user"), ("free_for_all", "")]
)
def test_no_choice_makes_a_leader_of_who_lost_to_all(technique, setting):
    """Plackett–Luce, select-all and TrueSkill of models that were not all shown together: as of comparisons."""
    (answer,) = leading(build_report(tables(chosen(VOTES, technique, setting)), OPTIONS).summaries())
    assert [line.model for line in answer.models] == ["champ", "strong", "weak", "bottom"]
    assert answer.best.leader == "champ"
    assert any("never chosen over champ or strong" in remark for remark in answer.remarks)
    apart = {pair: won for pair, won in VOTES.items() if sum(won) > 5}
    (answer,) = leading(build_report(tables(chosen(apart, technique, setting)), OPTIONS).summaries())
    assert answer.best is None or answer.best.leader is None
    assert "No model leads: no answer ranks" in answer.verdict or "no model leads: no answer ranks" in answer.verdict


def spotted(votes, workers=25):
    """Segments of two bots, of which the winner was taken for a person."""
    return [
        make_segment(
            f"{a}{b}{i}",
            (a, b),
            ("human", "bot") if i < won else ("bot", "human"),
            worker=f"w{i % workers}",
            dialogue=f"{a}{b}{i}",
        )
        for (a, b), (won, lost) in votes.items()
        for i in range(won + lost)
    ]


@pytest.mark.usefixtures("only_answers")
def test_no_bot_leads_that_lost_to_all():
    """Spot The Bot ranks by the mean win rate over opponents, and by whom a bot won over where wins do not link all."""
    (answer,) = build_report(tables(spotted(VOTES)), OPTIONS).summaries()
    assert [line.model for line in answer.models] == ["champ", "strong", "weak", "bottom"]
    assert answer.best.leader == "champ"
    apart = {pair: won for pair, won in VOTES.items() if sum(won) > 5}
    (answer,) = build_report(tables(spotted(apart)), OPTIONS).summaries()
    assert answer.best.leader is None
    assert answer.verdict.startswith("No bot leads: no answer ranks champ and strong above or below weak and bottom")
    assert answer.verdict.count("no answer ranks") == 1


@pytest.mark.usefixtures("only_answers")
@pytest.mark.parametrize("source", ["made here", "the case"])
def test_bots_that_nobody_ever_spotted(source):
    """All passed, so that nobody passes longest."""
    workers = [f"w{number}" for number in range(6)]
    records = spot_the_bot(("a", "b", "c"), workers, "one")
    document = build_report(
        tables(records) if source == "made here" else case("D1_leader_by_alphabet/all_pass"), OPTIONS
    )
    assert document.headline().startswith(
        "a, b and c were never taken for a bot within 5 exchanges: nothing distinguishes them"
    )
    assert document.summaries()[0].best is None
    assert [board.told for board in leaderboard_of(document).boards] == [
        "All answers are ties: nothing distinguishes the models."
    ]


@pytest.mark.usefixtures("only_answers")
def test_no_ranking_makes_a_leader_of_who_lost_to_all():
    """Mean places of models that were not all ranked together are ordered by whom they were ranked above."""
    lives = [(record, pair) for pair in VOTES for record in chosen({pair: VOTES[pair]}, "sata", "sata_user")]
    rankings = []
    for number, (live, pair) in enumerate(lives):
        first = next(one.model for one in live.turns[0].candidates if one.candidate_id in live.turns[0].selected)
        places = {model: 1 + (model != first) for model in pair}
        rankings.append(make_ranking(f"k{number}", live, 1, places, worker=f"t{number % 25}"))
    (answer,) = build_report(tables(rankings), OPTIONS).summaries()
    assert {line.model: round(line.estimate, 2) for line in answer.models}["weak"] < 1.2, "the best mean place"
    assert [line.model for line in answer.models] == ["champ", "strong", "weak", "bottom"]
    assert answer.best.leader == "champ"


@pytest.mark.usefixtures("only_answers")
def test_models_that_beat_each_other_in_a_circle_share_their_ranks():
    """Each is significantly behind another one, so that nobody leads, and no rank is left without a model."""
    circle = {("a", "b"): (10, 0), ("b", "c"): (10, 0), ("c", "a"): (10, 0)}
    below = {(model, "d"): (10, 0) for model in "abc"}
    document = build_report(compared(circle | below), OPTIONS)
    (answer,) = document.summaries()
    assert "No model leads: a, b and c beat each other in a circle." in answer.verdict
    ranks = {line.model: (line.rank_low, line.rank_high) for line in answer.models}
    assert ranks == {"a": (1, 3), "b": (1, 3), "c": (1, 3), "d": (4, 4)}
    (board,) = leaderboard_of(document).boards
    assert board.told.startswith("No model leads: a, b and c beat each other in a circle.")
    assert {one.model: (one.rank_low, one.rank_high) for one in board.standings} == {
        "a": (1, 3),
        "b": (1, 3),
        "c": (1, 3),
        "d": (4, 4),
    }


@pytest.mark.usefixtures("only_answers")
def test_sets_of_models_that_all_agree_on():
    """Two sets of two models, each with one that is always chosen: an exact p, no interval, and no nameless strength."""
    choices = [
        make_choice(f"{worker}-{first}", [(first,)] * 2, models=(first, second), worker=worker, technique="sata")
        for first, second in (("ada", "bob"), ("cyd", "dan"))
        for worker in (f"{first}{number}" for number in range(8))
    ]
    (answer,) = build_report(tables(choices), OPTIONS).summaries()
    assert "100 points (no interval can be given, clustered by rater; p = .016" in answer.verdict
    assert not [remark for remark in answer.remarks if "trengths: cannot be estimated" in remark]


@pytest.mark.usefixtures("only_answers")
def test_a_free_for_all_that_all_agree_on_has_its_p():
    """No strength is finite, but who is ahead is tested all the same, and the verdict says so."""
    choices = [
        make_choice(f"d{i}", [("ada",)] * 2, models=NAMES, worker=f"w{i}", technique="free_for_all", setting="")
        for i in range(10)
    ]
    (answer,) = [one for one in build_report(tables(choices), OPTIONS).summaries() if one.section == "free_for_all"]
    assert "ada is ahead of both others; ada is ahead of bob (p = .006 after Holm's correction" in answer.verdict


@pytest.mark.usefixtures("only_answers")
@pytest.mark.parametrize(("won", "told"), [((10, 0), "they differ (p = .002)"), ((5, 5), "statistically tied (p = 1)")])
def test_two_bots_are_tested_in_words(won, told):
    """Spot The Bot of two bots: its sentence has the p that decides."""
    (answer,) = build_report(tables(spotted({("a", "b"): won}, workers=10)), OPTIONS).summaries()
    assert told in answer.verdict
