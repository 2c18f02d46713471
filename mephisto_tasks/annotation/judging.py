"""A judge's answers about a task: stored answers, requests for missing ones, and predictions for all items of a study
before any rater sees them."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import InitVar, dataclass
from operator import attrgetter
from pathlib import Path

from mephisto_tasks.storage.locks import image_store
from mephisto_tasks.storage.logs import JUDGE_ANSWERS
from mephisto_tasks.storage.results import read_records
from parlai_humaneval._util import __version__
from parlai_humaneval._util.terminal import counting
from parlai_humaneval.judges.config import SHORT_REPLY, Budget, JudgeError, JudgeSpec
from parlai_humaneval.judges.questions import JudgeQuestion, questions_of
from parlai_humaneval.judges.run import OUTAGE_S, Ran, ask_judge, check_format, once
from parlai_humaneval.schema.judge_answers import AnyLine, JudgeAnswer, JudgeCard, UnjudgedItem
from parlai_humaneval.schema.records import JudgementRecord, Rated

Draw = Callable[[Sequence[Rated], Path, str, int, Collection[str], int], list[JudgementRecord]]
_asked_of = attrgetter("unit", "setting", "metric", "order")  # What tells questions apart, and answers


@dataclass
class JudgedStudy:
    """The questions for a judge about a task, and its earlier answers."""

    data_dir: Path
    task_name: str
    spec: JudgeSpec
    records: Sequence[Rated]
    questions: Sequence[JudgeQuestion]
    lines: InitVar[Sequence[AnyLine]]
    new: Sequence[JudgementRecord] = ()

    def __post_init__(self, lines: Sequence[AnyLine]) -> None:
        self.n_lines, name = len(lines), self.spec.name
        self.cards = [line for line in lines if isinstance(line, JudgeCard) and line.judge == name]
        self.answers = [line for line in lines if isinstance(line, JudgeAnswer) and line.judge == name]
        done = set(map(_asked_of, self.answers))
        self.missing = [one for one in self.questions if _asked_of(one) not in done]
        check_format(self.questions, self.spec)
        if any(answer.version != self.spec.version for answer in self.answers):
            raise JudgeError(
                f"a judge called {self.spec.name} has answered {len(self.answers):,} questions of this task with "
                "another model, prompt, format or seed, and the answers of two judges must not be mixed",
                try_="give the new judge a different name",
            )

    @classmethod
    def read(cls, data_dir: Path, task_name: str, spec: JudgeSpec, unjudged: int, draw: Draw) -> JudgedStudy:
        """Raters' records and judges' lines, with ``unjudged`` items that no rater has judged, drawn by ``draw``. Raises
        ConfigError, DataError, ResultsError, CannotJudge; JudgeError: another judge of this name has answered."""
        rated, lines = read_records(data_dir, task_name), JUDGE_ANSWERS.read(data_dir, task_name)
        drawn = [line.record for line in lines if isinstance(line, UnjudgedItem)]
        new: list[JudgementRecord] = []
        if unjudged > len(drawn):
            known = {record.item_id for record in drawn}
            new = draw(rated, data_dir, task_name, unjudged - len(drawn), known, spec.seed)
        records = [*rated, *(drawn + new)[:unjudged]]
        questions = questions_of(records, both_orders=spec.both_orders)
        return cls(data_dir, task_name, spec, [*rated, *drawn, *new], questions, lines, new)

    @classmethod
    def of_items(
        cls, data_dir: Path, task_name: str, spec: JudgeSpec, records: Sequence[JudgementRecord]
    ) -> JudgedStudy:
        """All possible items of a study that has not begun, as ``records`` without answers."""
        lines = JUDGE_ANSWERS.read(data_dir, task_name)
        known = {line.record.item_id for line in lines if isinstance(line, UnjudgedItem)}
        questions = questions_of(records, both_orders=spec.both_orders)
        new = [record for record in records if record.item_id not in known]
        return cls(data_dir, task_name, spec, records, questions, lines, new)

    @property
    def card(self) -> JudgeCard:
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
        known = [one.completion_tokens for one in self.answers if one.completion_tokens is not None]
        return sum(known) / len(known) if known else SHORT_REPLY

    @property
    def kept(self) -> list[JudgeAnswer]:
        """Its answers to these questions; it may have been asked others before."""
        wanted = set(map(_asked_of, self.questions))
        return [one for one in self.answers if _asked_of(one) in wanted]


def ask(study: JudgedStudy, max_cost: float | None) -> Ran:
    """Ask what is missing, while nobody else asks about the task; each answer is kept at once. Raises ZooError."""
    if not study.missing:
        keep_card(study)
        return Ran()
    spec = study.spec

    def keep(answer: JudgeAnswer) -> None:
        JUDGE_ANSWERS.append(study.data_dir, answer, task=study.task_name)
        study.answers.append(answer)

    from parlai_humaneval.models.agent.isolation import quiet_parlai, quiet_tries
    from parlai_humaneval.models.model_pool import ModelPool

    total = len(study.missing)
    with (
        counting(f"Asking {spec.name}", total, "questions") as told,
        quiet_parlai(),
        quiet_tries(),
        ModelPool([once(spec.model)], outage_s=OUTAGE_S) as pool,
    ):
        keep_card(study)
        items = [UnjudgedItem(record=record) for record in study.new]
        JUDGE_ANSWERS.append(study.data_dir, *items, task=study.task_name)
        budget, images = Budget(max_cost, spec), image_store(study.data_dir, study.task_name)
        return ask_judge(
            pool, spec, study.missing, keep=keep, budget=budget, on_done=lambda done: told(done, total), images=images
        )


def keep_card(study: JudgedStudy) -> None:
    if study.has_new_card:
        card = study.card
        JUDGE_ANSWERS.append(study.data_dir, card, task=study.task_name)
        study.cards.append(card)


def predictions(study: JudgedStudy) -> dict[str, tuple[str, float]]:
    """Item → a model of it, and the share that the judge gave it: ties count half, and both orders are averaged."""
    from parlai_humaneval.statistics.preference.pairs import counted_comparisons, orient_pairs
    from parlai_humaneval.tables.build import judge_tables

    tables = judge_tables(study.records, [*study.cards, *study.answers])
    if tables is None:
        return {}
    rows = orient_pairs(counted_comparisons(tables))
    means = rows.assign(share=(1 + rows["outcome"].astype(float)) / 2).groupby(["item_id", "model_a"])["share"].mean()
    columns = means.reset_index()
    return {
        str(item): (str(model), float(share))
        for item, model, share in zip(columns["item_id"], columns["model_a"], columns["share"], strict=True)
    }
