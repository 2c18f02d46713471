"""``parlai-humaneval judge``: a model answers what raters were asked, beside them and never among them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mephisto_tasks.cli.options import (
    READING,
    clear_errors,
    data_dir_of,
    data_dir_option,
    json_option,
    task_options,
    waiting_for,
)
from parlai_humaneval._util.terminal import say, say_json

if TYPE_CHECKING:
    from parlai_humaneval.judges.budget import Estimate
    from parlai_humaneval.judges.config import JudgeSpec
    from parlai_humaneval.judges.questions import JudgeQuestion
    from parlai_humaneval.judges.run import Ran
    from parlai_humaneval.schema.judge_answers import AnyLine, JudgeAnswer, JudgeCard
    from parlai_humaneval.schema.records import JudgementRecord, Rated

EPILOG = """\b
Examples:
  parlai-humaneval judge --judge my_judge.yaml --task-name pw-turn-preference --dry-run
  parlai-humaneval judge --judge my_judge.yaml --task-name pw-turn-preference --max-cost 2.50
  parlai-humaneval judge --judge my_judge.yaml --task-name pw-dialog-preference --unjudged 400
  parlai-humaneval report --task-name pw-turn-preference --full

\b
my_judge.yaml, at its shortest:
  name: my_judge
  model: my_server                # of `models list`, or of a file of your own: zoo_files: [my_zoo.yaml]
  price_per_1k: {prompt: 0.00015, completion: 0.0006, currency: USD}
"""


@click.command(epilog=EPILOG)
@click.option(
    "--judge",
    "judge_file",
    required=True,
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=str),
    help="YAML file of the judge: its name, its model, and what else there is to say of it.",
)
@click.option("--task-name", required=True, help="The study (`parlai-humaneval report` lists them).")
@click.option(
    "--max-cost",
    metavar="AMOUNT",
    type=click.FloatRange(min=0),
    help="Most that this run may cost, in the currency of the judge's prices. It stops before.",
)
@click.option(
    "--unjudged",
    metavar="NUMBER",
    type=click.IntRange(min=1),
    help="Of finished dialogues: ask about so many items of the study besides that no rater has judged, drawn by lot.",
)
@click.option("--dry-run", is_flag=True, help="Say how many questions there are and what they would cost; ask nothing.")
@data_dir_option
@json_option
def judge(
    judge_file: str,
    task_name: str,
    max_cost: float | None,
    unjudged: int | None,
    dry_run: bool,
    data_dir: str | None,
    as_json: bool,
) -> None:
    """Have a model answer the question that raters were asked, on the same turns and dialogues, in both orders.

    Its answers are kept beside the study as a judge's, with prompts, tokens and cost, each as soon as it is there; the same
    command asks what is missing. They enter no number of people's: `report` compares them in a section of their own, and
    `export` writes them into a folder of their own.
    """
    with clear_errors():
        from mephisto_tasks.storage.locks import only_judging
        from mephisto_tasks.storage.logs import JUDGE_ANSWERS
        from parlai_humaneval.judges.budget import estimate
        from parlai_humaneval.judges.config import JudgeError, load_judge
        from parlai_humaneval.judges.run import Ran

        if max_cost is not None and isnan(max_cost):
            raise JudgeError("--max-cost takes a number from 0 up, not nan")
        spec, directory = load_judge(Path(judge_file).expanduser()), data_dir_of(data_dir)
        if max_cost is not None and spec.price is None:
            raise JudgeError(
                f"{judge_file} says no price, so that --max-cost cannot be kept",
                try_="add price_per_1k: {prompt: …, completion: …}",
            )
        study = read(directory, task_name, spec, unjudged or 0)
        if dry_run:
            tell_estimate(study, estimate(study.missing, spec, study.reply_tokens), as_json)
            return
        ran = Ran()
        if study.missing or study.has_new_card:
            with only_judging(directory, task_name):
                if len(JUDGE_ANSWERS.read(directory, task_name)) > study.n_lines:  # somebody else was at it until now
                    study = read(directory, task_name, spec, unjudged or 0)
                ran = ask(study, max_cost)
        tell(study, ran, as_json)
        # A script should not go on as if it had judged, where not one of its replies is an answer.
        says_nothing = study.kept and not any(answer.outcome == "answered" for answer in study.kept)
        if ran.stopped == "failed" or says_nothing:
            sys.exit(1)


def read(data_dir: Path, task_name: str, spec: JudgeSpec, unjudged: int) -> Study:
    """See :meth:`Study.read`; a screen says meanwhile that it reads."""
    with waiting_for(READING, on_screens_only=True):
        return Study.read(data_dir, task_name, spec, unjudged)


class Study:
    """What a judge is to be asked about a task, and what it has answered before."""

    def __init__(
        self,
        data_dir: Path,
        task_name: str,
        spec: JudgeSpec,
        records: Sequence[Rated],
        questions: Sequence[JudgeQuestion],
        lines: Sequence[AnyLine],
        new: Sequence[JudgementRecord] = (),
    ) -> None:
        from parlai_humaneval.schema.judge_answers import JudgeAnswer, JudgeCard

        self.data_dir, self.task_name, self.spec = data_dir, task_name, spec
        self.records, self.questions, self.new, self.n_lines = records, questions, new, len(lines)
        self.cards = [line for line in lines if isinstance(line, JudgeCard) and line.judge == spec.name]
        self.answers = [line for line in lines if isinstance(line, JudgeAnswer) and line.judge == spec.name]
        done = {(one.unit, one.setting, one.metric, one.order) for one in self.answers}
        self.missing = [one for one in questions if (one.unit, one.setting, one.metric, one.order) not in done]

    @classmethod
    def read(cls, data_dir: Path, task_name: str, spec: JudgeSpec, unjudged: int) -> Study:
        """Records of raters and lines of judges; and ``unjudged`` items that no rater has judged, those that were drawn
        before among them.

        Raises:
            ConfigError, DataError: there are no such items, or their dialogues are gone.
            ResultsError, CannotJudge: no such task, or nothing in it that a judge can be asked.
            JudgeError: another judge of this name has answered.
        """
        from mephisto_tasks.storage.logs import JUDGE_ANSWERS
        from mephisto_tasks.storage.results import read_records
        from parlai_humaneval.judges.config import JudgeError
        from parlai_humaneval.judges.questions import questions_of
        from parlai_humaneval.judges.run import check_format
        from parlai_humaneval.schema.judge_answers import UnjudgedItem

        rated, lines = read_records(data_dir, task_name), JUDGE_ANSWERS.read(data_dir, task_name)
        drawn = [line.record for line in lines if isinstance(line, UnjudgedItem)]
        new: list[JudgementRecord] = []
        if unjudged > len(drawn):
            from mephisto_tasks.annotation.build import unjudged as draw

            known = {record.item_id for record in drawn}
            new = draw(rated, data_dir, task_name, unjudged - len(drawn), known, spec.seed)
        records = [*rated, *(drawn + new)[:unjudged]]
        questions = questions_of(records, both_orders=spec.both_orders)
        check_format(questions, spec)
        study = cls(data_dir, task_name, spec, [*rated, *drawn, *new], questions, lines, new)
        if any(answer.version != spec.version for answer in study.answers):
            raise JudgeError(
                f"a judge called {spec.name} has answered {len(study.answers):,} questions of this task with "
                "another model, prompt, format or seed, and answers of two judges are not mixed",
                try_="give this one another name",
            )
        return study

    @property
    def card(self) -> JudgeCard:
        """What the judge is, by its file."""
        import time

        from parlai_humaneval import __version__
        from parlai_humaneval.schema.judge_answers import JudgeCard

        spec, price = self.spec, self.spec.price
        return JudgeCard(
            judge=spec.name,
            version=spec.version,
            package_version=__version__,
            model=spec.model.name,
            options=spec.model.options,
            template=spec.template,
            answer_format=spec.answer_format,
            both_orders=spec.both_orders,
            seed=spec.seed,
            family=list(spec.family),
            price_prompt=None if price is None else price.prompt,
            price_completion=None if price is None else price.completion,
            currency=None if price is None else price.currency,
            at=time.time(),
        )

    @property
    def has_new_card(self) -> bool:
        """Its file says otherwise than what was written down last, such as another ``family``."""
        card = self.card
        return not self.cards or self.cards[-1].model_copy(update={"at": card.at}) != card

    @property
    def reply_tokens(self) -> float:
        """Tokens of an answer so far, in the mean; before the first, what a short one has."""
        from parlai_humaneval.judges.budget import SHORT_REPLY

        known = [one.completion_tokens for one in self.answers if one.completion_tokens is not None]
        return sum(known) / len(known) if known else SHORT_REPLY

    @property
    def kept(self) -> list[JudgeAnswer]:
        """Its answers to these questions; it may have been asked others before."""
        wanted = {(one.unit, one.setting, one.metric, one.order) for one in self.questions}
        return [one for one in self.answers if (one.unit, one.setting, one.metric, one.order) in wanted]

    @property
    def spent(self) -> float:
        """What these have cost."""
        return sum(answer.cost or 0.0 for answer in self.kept)


def ask(study: Study, max_cost: float | None) -> Ran:
    """Ask what is missing, while nobody else asks about the task; each answer is kept as soon as it is there.

    Raises:
        ZooError: the model cannot be loaded.
    """
    from mephisto_tasks.storage.logs import JUDGE_ANSWERS
    from parlai_humaneval._util.terminal import counting
    from parlai_humaneval.judges.budget import Budget
    from parlai_humaneval.judges.run import OUTAGE_S, Ran, ask_judge, once
    from parlai_humaneval.schema.judge_answers import UnjudgedItem

    if not study.missing:
        keep_card(study)
        return Ran()
    spec = study.spec

    def keep(answer: JudgeAnswer) -> None:
        JUDGE_ANSWERS.append(study.data_dir, answer, task=study.task_name)
        study.answers.append(answer)

    with waiting_for(f"Loading {spec.name}…", on_screens_only=True):
        from parlai_humaneval.models.agent.isolation import quiet_parlai, quiet_tries
        from parlai_humaneval.models.model_pool import ModelPool

    total = len(study.missing)
    try:
        with (
            counting(f"Asking {spec.name}", total, "questions") as told,
            quiet_parlai(),
            quiet_tries(),
            ModelPool([once(spec.model)], outage_s=OUTAGE_S) as pool,
        ):
            keep_card(study)
            for record in study.new:
                JUDGE_ANSWERS.append(study.data_dir, UnjudgedItem(record=record), task=study.task_name)
            budget = Budget(max_cost, spec)
            return ask_judge(
                pool, spec, study.missing, keep=keep, budget=budget, on_done=lambda done: told(done, total)
            )
    except KeyboardInterrupt:
        say(f"Stopped. {len(study.answers):,} answers are kept; the same command goes on with the rest.", err=True)
        sys.exit(130)


def keep_card(study: Study) -> None:
    """Write down what the judge is, unless that stands there already."""
    from mephisto_tasks.storage.logs import JUDGE_ANSWERS

    if study.has_new_card:
        card = study.card
        JUDGE_ANSWERS.append(study.data_dir, card, task=study.task_name)
        study.cards.append(card)


def tell_estimate(study: Study, expected: Estimate, as_json: bool) -> None:
    """What would be asked, and what it would cost."""
    from parlai_humaneval.statistics.core.formatting import money_words

    done = len(study.questions) - len(study.missing)
    if as_json:
        say_json({"judge": study.spec.name, "task": study.task_name, "answered": done, **asdict(expected)}, indent=None)
        return
    units = len({(one.unit, one.setting, one.metric) for one in study.questions})
    say(
        f"{study.spec.name} would be asked {expected.questions:,} questions in {expected.requests:,} requests: "
        f"{units:,} turns, dialogues or items{' in both orders' if study.spec.both_orders else ''}"
        + (f", of which {done:,} questions are answered." if done else ".")
    )
    say(f"That is about {expected.prompt_tokens:,} tokens to read and {expected.completion_tokens:,} to write.")
    if expected.cost is None:
        say("What it costs is not known: the judge's file has no price_per_1k.")
    else:
        most = money_words(expected.cost_at_most)
        say(f"It would cost about {money_words(expected.cost)} {expected.currency}, and {most} at the very most.")
    say("Nothing was asked.")


def summary_of(study: Study, ran: Ran) -> dict[str, Any]:
    """All that is told of a run."""
    kept = study.kept
    outcomes = {name: sum(one.outcome == name for one in kept) for name in ("answered", "refused", "unparsable")}
    price = study.spec.price
    return {
        "judge": study.spec.name,
        "version": study.spec.version,
        "task": study.task_name,
        "questions": len(study.questions),
        **outcomes,
        "asked_now": ran.kept,
        "reminded_now": ran.reminded,
        "failed": ran.failed,
        "failures": ran.failures,
        "left": ran.left,
        "stopped": ran.stopped,
        "needed": ran.needed,
        "overspent": ran.overspent,
        "prompt_tokens": sum(one.prompt_tokens or 0 for one in kept),
        "completion_tokens": sum(one.completion_tokens or 0 for one in kept),
        "cost_now": None if price is None else ran.spent,
        "cost": None if price is None else study.spent,
        "currency": None if price is None else price.currency,
        **places(study),
    }


def places(study: Study) -> dict[str, Any]:
    """How often what stood first was chosen, and how often the order changed the answer; None where there is no order."""
    from parlai_humaneval.statistics.judges.bias import choices, first_chosen, inconsistent
    from parlai_humaneval.tables.build_judgements import judge_tables

    found: dict[str, Any] = {"first_chosen": None, "changed_with_order": None, "choices": 0}
    tables = judge_tables(study.records, [*study.cards, *study.answers])
    chosen = None if tables is None else choices(tables)
    if chosen is not None and len(chosen):
        of_two = chosen[chosen["options"] == 2]
        first = first_chosen(of_two)
        found |= {
            "first_chosen": first.estimate,
            "choices": first.n,
            "changed_with_order": inconsistent(chosen).estimate,
        }
    return found


def tell(study: Study, ran: Ran, as_json: bool) -> None:
    """What was answered, what it cost, what is left, and what is odd about it."""
    found = summary_of(study, ran)
    if as_json:
        say_json(found, indent=None)
        return
    for line in lines_of(found, task_options(study.task_name, study.data_dir)):
        say(line)


def lines_of(found: dict[str, Any], task: str) -> list[str]:
    """The same for people."""
    from parlai_humaneval.report.sections.judges import goes_by_place
    from parlai_humaneval.statistics.core.formatting import money_words, percent

    kept = found["answered"] + found["refused"] + found["unparsable"]
    lines = [
        f"{found['judge']} has {kept:,} of {found['questions']:,} answers to the questions of {found['task']}, "
        f"{found['asked_now']:,} of them new: {found['answered']:,} answered, {found['refused']:,} refused, "
        f"{found['unparsable']:,} that nobody can read ({found['reminded_now']:,} asked twice now)."
    ]
    if kept and not found["answered"]:
        lines.append(
            "Not one answer could be read: look at the replies (`export` writes them), and say more plainly in the prompt "
            "what is wanted, or name another model."
        )
    if found["cost"] is not None:
        lines.append(
            f"Cost: {money_words(found['cost_now'])} {found['currency']} now, {money_words(found['cost'])} in all; "
            f"{found['prompt_tokens']:,} tokens read, {found['completion_tokens']:,} written."
        )
    if found["first_chosen"] is not None:
        changed = found["changed_with_order"]
        other = "" if changed is None else f"; {percent(changed)} of its answers changed with the order"
        lines.append(f"Of two it chose what stood first in {percent(found['first_chosen'])}{other}.")
        if goes_by_place(found["first_chosen"], options=2):
            lines.append("It goes by the place and not by what it reads: its answers say nothing of the models.")
    lines += _left(found)
    return [*lines, *([f"`parlai-humaneval report {task} --full` compares it with people."] if kept else [])]


def _left(found: dict[str, Any]) -> list[str]:
    failed = [f"{found['failed']:,} got no reply: {'; '.join(found['failures'])}."] if found["failed"] else []
    if found["overspent"]:
        return [
            *failed,
            "More was spent than --max-cost allows: replies were longer than max_reply_tokens. Set that as high as replies "
            f"can be; {found['left']:,} questions are left.",
        ]
    if found["stopped"] == "failed":
        return [*failed, f"It was given up; {found['left']:,} questions are left. Mend that, and run the same command."]
    if found["stopped"] == "budget":
        from parlai_humaneval.statistics.core.formatting import money_words

        return [
            *failed,
            f"Stopped before --max-cost could be exceeded; {found['left']:,} questions are left. The next may cost up to "
            f"{money_words(found['needed'])} {found['currency']} (asked twice, with the longest reply that max_reply_tokens "
            "allows). The same command goes on.",
        ]
    return [*failed, f"{found['left']:,} questions are left: the same command asks them."] if found["left"] else failed
