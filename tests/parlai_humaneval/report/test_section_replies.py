"""Section ``replies``: who was shown, hidden and refused, what gave models away, and what they cost."""

from __future__ import annotations

import pytest
from make_records import make_record, make_study, make_turn

from parlai_humaneval.display.text import ONLY_THOUGHTS
from parlai_humaneval.report.build import build_report
from parlai_humaneval.report.registry import sections
from parlai_humaneval.report.render.files import to_latex
from parlai_humaneval.report.section import Options
from parlai_humaneval.report.sections.replies import ModelReplies, Replies, build
from parlai_humaneval.schema.records import DialogueRecord, Mask, ReplyInfo
from parlai_humaneval.tables.build import Tables, tables
from parlai_humaneval.tables.columns import typed
from parlai_humaneval.tables.schema import TABLES

SHOWN = ("eliza", "my_bot")


def told_in_short(records: list[DialogueRecord]) -> str:
    """What the summary of a report is told besides the answers."""
    return " ".join(build_report(tables(records), Options(draws=100)).in_short())


def study(*texts: str, human: str = "What do you like?", reason: str | None = "nicer") -> list[DialogueRecord]:
    """A dialogue for each text: the reply of ``my_bot`` in its first turn; the second turn has innocent ones."""
    records = []
    for number, text in enumerate(texts):
        turns = [make_turn(turn, SHOWN, "eliza") for turn in (1, 2)]
        turns[0].candidates[1].text = text
        turns[1] = turns[1].model_copy(update={"human_text": human, "human_fixed": False, "reason": reason})
        records.append(make_record(f"d{number}", turns, worker=f"w{number}", models=SHOWN))
    return records


def of(records: list[DialogueRecord]) -> Replies:
    section = build(tables(records), Options())
    assert section is not None
    return section


def model(section: Replies, name: str = "my_bot") -> ModelReplies:
    return next(one for one in section.models if one.model == name)


def test_a_reply_that_names_its_model_is_flagged_with_its_dialogue() -> None:
    """The finding that decides whether a study was blind: who, how often, where; and in words."""
    section = of(study("I like tea.", "As ChatGPT, I like tea.", "I am my_bot and like tea."))
    assert (model(section).n_told, model(section).told_dialogues) == (2, ["d1", "d2"])
    assert model(section, "eliza").n_told == 0
    assert "my_bot in 2 of 6" in section.headline
    assert [remark for remark in section.remarks if remark.startswith("my_bot: 2 of 6 replies that were shown")]


def test_a_name_that_was_hidden_is_no_give_away() -> None:
    """Masks did their work: counted as hidden, not as told."""
    records = study("As [name], I like tea.")
    records[0].turns[0].candidates[1].raw_text = "As ChatGPT, I like tea."
    records[0].turns[0].candidates[1].masks = [Mask(start=3, end=10, original="ChatGPT", replacement="[name]")]
    section = of(records)
    assert (model(section).n_masked, model(section).n_told) == (1, 0)
    assert "none of them says which model wrote it" in section.headline


def test_languages_in_which_nothing_could_be_hidden_are_remarked() -> None:
    """Guards studies in a language without a list from being read as blind; those of English say nothing of it."""
    arabic = of(study("أنا نموذج لغوي ولا أملك جسدا"))
    assert any("Blinding does not support Arabic letters" in remark for remark in arabic.remarks)
    dutch = of([record.model_copy(update={"language": "nl"}) for record in study("Ik hou van thee.")])
    assert any("Blinding does not support nl:" in remark for remark in dutch.remarks)
    assert not any("Blinding does not support" in remark for remark in of(study("I like tea.")).remarks)


def test_what_was_not_shown_tells_nobody() -> None:
    """A refused reply counts as refused; its text reached no page."""
    records = study("")
    records[0].turns[0].candidates[1] = (
        records[0]
        .turns[0]
        .candidates[1]
        .model_copy(update={"raw_text": "I am ChatGPT, you fool", "failed": True, "blocked": "offensive"})
    )
    records[0].turns[1].candidates[1] = (
        records[0].turns[1].candidates[1].model_copy(update={"text": "", "failed": True})
    )
    section = of(records)
    mine = model(section)
    assert (mine.n, mine.n_shown, mine.n_blocked, mine.n_failed, mine.n_told) == (2, 0, 1, 1, 0)
    assert "2 of 4 replies could be shown" in section.headline
    assert any("2 of 2 replies were not shown (1 blank, 1 refused" in remark for remark in section.remarks)


def test_thoughts_alone_count_as_no_reply_with_what_to_do() -> None:
    """Guards a researcher whose model's limit leaves its replies no room: it is not the filter's doing."""
    records = study("")
    cut = {"raw_text": "<think>Hm", "failed": True, "blocked": ONLY_THOUGHTS}
    records[0].turns[0].candidates[1] = records[0].turns[0].candidates[1].model_copy(update=cut)
    section = of(records)
    assert (model(section).n_failed, model(section).n_thinking, model(section).n_blocked) == (1, 1, 0)
    assert f"my_bot: in 1 turn {ONLY_THOUGHTS}." in section.remarks


@pytest.mark.parametrize(("field", "text"), [("human", "Are you ChatGPT?"), ("reason", "sounds like GPT-4")])
def test_raters_who_name_a_model_may_have_guessed(field: str, text: str) -> None:
    """Their messages and their reasons are searched; it concerns every model of the dialogue."""
    given = {field: text}
    section = of([*study("I like tea.", **given), *study("I like tea.", "I like tea.")[1:]])
    assert {one.model: one.n_named for one in section.models} == {"eliza": 1, "my_bot": 1}
    assert any("rater's own words name a model" in remark for remark in section.remarks)


def test_a_first_message_that_was_given_is_not_the_raters() -> None:
    """A fixed opener that happens to name a model says nothing of what the rater knows."""
    records = study("I like tea.")
    records[0].turns[0] = records[0].turns[0].model_copy(update={"human_text": "Are you ChatGPT?", "human_fixed": True})
    assert model(of(records)).n_named == 0


def test_changes_are_counted_by_kind() -> None:
    """Two kinds in one reply are one changed reply and count in both kinds."""
    records = study("I like tea.", "I like tea.")
    records[0].turns[0].candidates[1].changes = ["markdown", "emoji"]
    records[1].turns[0].candidates[1].changes = ["emoji"]
    assert (model(of(records)).n_changed, model(of(records)).changes) == (2, {"emoji": 2, "markdown": 1})


def test_tokens_money_and_names_of_servers() -> None:
    """Totals of a model over all its replies, per dialogue, and a server whose model changed under way."""
    records = study("I like tea.", "I like tea.")
    for number, record in enumerate(records):
        record.turns[0].candidates[1].info = ReplyInfo(
            served_model=f"m-{number}",
            prompt_tokens=100,
            completion_tokens=10,
            cost=0.5,
            currency="USD",
            finish_reason="length",
        )
    section = of(records)
    mine = model(section)
    assert (mine.prompt_tokens, mine.completion_tokens, mine.cost, mine.currency) == (200, 20, 1.0, "USD")
    assert (mine.cost_per_dialogue, mine.n_cut, mine.served_models) == (0.5, 2, ["m-0", "m-1"])
    assert any("its server reported the names m-0 and m-1" in remark for remark in section.remarks)
    eliza = model(section, "eliza")
    assert (eliza.cost, eliza.prompt_tokens, eliza.cost_per_dialogue) == (None, None, None)


def test_replies_that_were_written_without_the_oldest_turns_are_said() -> None:
    """Guards researchers against comparing what a model remembers without knowing that it was not shown everything."""
    records = study("I like tea.", "I like tea.", "I like tea.")
    for record, number in zip(records, (None, 2, 5), strict=True):
        record.turns[0].candidates[1].info = ReplyInfo(requests=0, turns_left_out=number)
    section = of(records)
    assert (model(section).n_shortened, model(section).most_left_out) == (2, 5)
    assert any("2 of 6 replies were written without the oldest turns" in remark for remark in section.remarks)
    assert (model(section, "eliza").n_shortened, model(section, "eliza").most_left_out) == (0, 0)


def test_small_amounts_of_money_have_digits() -> None:
    """A third of a thousandth of a dollar is not 0.000: in tables of every form, and in the terminal's line."""
    records = study("I like tea.")
    records[0].turns[0].candidates[1].info = ReplyInfo(
        prompt_tokens=2100, completion_tokens=42, cost=0.00034, currency="USD"
    )
    section = of(records)
    (served,) = (table for table in section.data_tables() if table.key == "replies_served")
    assert "0.00034" in to_latex(served)
    assert "0.000 " not in to_latex(served)
    assert section.in_short() == ["my_bot: 2,100 tokens read, 42 written, 0.00034 USD"]


def test_the_terminal_is_told_who_was_given_away_and_nothing_where_there_is_nothing() -> None:
    """Blindness must not need a page to be seen; a study without findings is not made longer."""
    told = told_in_short(study("I am ChatGPT."))
    assert "give-aways by which raters could recognise" in told
    assert told_in_short(study("I like tea.")) == ""


def test_tokens_without_a_price_and_a_price_without_tokens() -> None:
    """What a server did not report is not made up."""
    records = study("I like tea.")
    first, second = (turn.candidates for turn in records[0].turns)
    first[0].info = ReplyInfo(completion_tokens=1200)
    second[1].info = ReplyInfo(cost=2.5)
    assert of(records).in_short() == ["eliza: 1,200 tokens written", "my_bot: 2.50"]


def test_several_currencies_have_no_sum() -> None:
    """Euros and dollars are not added up."""
    records = study("I like tea.", "I like tea.")
    for record, currency in zip(records, ("USD", "EUR"), strict=True):
        record.turns[0].candidates[1].info = ReplyInfo(cost=1.0, currency=currency)
    assert (model(of(records)).cost, model(of(records)).currency) == (None, None)


def test_a_model_that_is_much_slower_is_remarked() -> None:
    """Speed gives a model away where one speaks at a time."""
    records = study("I like tea.")
    assert not of(records).remarks
    for turn in records[0].turns:
        turn.candidates[1].latency_s = 9.0
    assert any(remark.startswith("my_bot takes 9.0 s per reply, eliza 0.2 s") for remark in of(records).remarks)


def test_tables_from_elsewhere_have_no_such_section() -> None:
    """Exchange columns alone say nothing of replies."""
    full = tables(make_study(2, 2))
    bare = full.turns[[column.name for column in TABLES["turns"] if column.exchange]]
    assert (
        build(Tables(turns=typed("turns", bare), dialogues=full.dialogues, comparisons=full.comparisons), Options())
        is None
    )
    assert build(tables([]), Options()) is None


def test_it_stands_in_the_report() -> None:
    """The catalogue builds it, with tables that can be written."""
    section = sections(tables(study("I am ChatGPT.")), Options(draws=20))["replies"]
    keys = [table.key for table in section.data_tables()]
    assert keys == ["replies_shown", "replies_served"]
    assert section.methods()
