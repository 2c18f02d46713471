"""Section ``direct_assessment``: 0–100 slider ratings by workers who can tell a degraded model (Ji et al. 2022)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import starmap
from typing import Any, ClassVar

from parlai_humaneval.report import conclusions, views
from parlai_humaneval.report.section import ModelLine, Options, Section, SectionLeftOut, Summary, told
from parlai_humaneval.report.sections.direct_numbers import TENTHS, Assessment, CheckedRow, assess
from parlai_humaneval.statistics.core.formatting import ABSENT, counted, sentence
from parlai_humaneval.statistics.core.rows import Columns, row_table, table_of
from parlai_humaneval.statistics.core.two_way import ABOUT_THESE
from parlai_humaneval.statistics.ratings.sliders import OVERALL, TECHNIQUE, SystemScore, assessed
from parlai_humaneval.tables.build import Tables

NAMED = 6
"""As many disagreements, and pairs that differ, as are told one by one."""


class DirectAssessment(Assessment, Section):
    """Slider ratings of each model; models stand from best to worst."""

    TITLE: ClassVar[str] = "Direct assessment"

    def left_out(self) -> SectionLeftOut | None:
        if not self.workers.left_out:
            return None
        why = "did not rate the degraded model, which is bad on purpose, lower than the others"
        return SectionLeftOut(section=self.TITLE, why=why, workers=self.workers.left_out, of=self.workers.total)

    def summary(self) -> list[Summary]:
        lines = [
            ModelLine.of(row.model, row.z_overall, "dialogues", share=False, n=row.n_dialogues) for row in self.models
        ]
        return [
            Summary(
                section="direct_assessment",
                technique=TECHNIQUE,
                setting=self.basis.setting,
                metric=self.basis.metric,
                question=OVERALL,
                what="overall z (0: the mean of all that a worker rated)",
                verdict=self.headline,
                models=lines,
                pairs=self.lines,
                reference=0.0,
                model_table="direct_assessment_z",
                pair_table="direct_assessment_pairs" if self.pairs else "",
                remarks=self.remarks,
            )
        ]

    def data_tables(self) -> list[views.DataTable]:
        cited = conclusions.to_cite(self.lines, self.of_decided)
        tables = [
            *_scores_tables(self.models, self.basis.criteria),
            self._workers_table(),
            table_of("direct_assessment_pairs", "Pairs of models by overall z", self.pairs, *cited),
            table_of("direct_assessment_settings", "Overall z by setting", self.settings),
            self._correlations_table(),
            table_of(
                "direct_assessment_opinions",
                "What raters thought of their topics",
                self.opinions,
                "Counts include the degraded model's dialogues; scores do not.",
            ),
            table_of(
                "direct_assessment_raters", "Agreement of two raters of the same models (Pearson's r)", self.rater_pairs
            ),
            self._replications_table(),
        ]
        return [table for table in tables if table.rows]

    def _workers_table(self) -> views.DataTable:
        """As the paper's Table 1."""
        workers, dialogues = self.workers, self.dialogues
        failed = None if workers.passed is None else workers.total - workers.passed
        lost = None if dialogues.passed is None else dialogues.total - dialogues.passed
        rows = [
            CheckedRow(workers_are=name, workers=n, dialogues=talks, seconds=None if minutes is None else 60 * minutes)
            for name, n, talks, minutes in (
                ("all", workers.total, dialogues.total, dialogues.trimmed_minutes),
                ("passed", workers.passed, dialogues.passed, dialogues.trimmed_minutes_passed),
                ("failed", failed, lost, dialogues.trimmed_minutes_failed),
            )
        ]
        note = "Dialogues with the degraded model are not counted."
        if dialogues.n_cut:
            n_cut = counted(dialogues.n_cut, "dialogue")
            note += f" The means exclude the time of {n_cut} whose page was left open."
        return table_of("direct_assessment_workers", "Workers and dialogues", rows, note)

    def _correlations_table(self) -> views.DataTable:
        """As the paper's Table 8: Pearson in the upper right half, Spearman in the lower left; no rows of one model."""
        correlations, names = self.correlations, self.correlations.labels
        columns = {f"criterion_{j}": name for j, name in enumerate(names)}
        rows: list[dict[str, views.Cell]] = []
        for i, name in enumerate(names if len(self.models) > 1 else ()):
            halves = [*correlations.spearman[i][:i], None, *correlations.pearson[i][i + 1 :]]
            rows.append({"criterion": name, **dict(zip(columns, halves, strict=True))})
        listed: Columns = (
            ("criterion", "Criterion", "text"),
            *((key, name, "number") for key, name in columns.items()),
        )
        note = "Upper right half: Pearson's r; lower left: Spearman's ρ; of raw scores."
        return row_table("direct_assessment_correlations", "Correlation of criteria over models", listed, rows, (note,))

    def _replications_table(self) -> views.DataTable:
        """As the last row of the paper's Table 3."""
        criteria = {name: f"criterion_{j}" for j, name in enumerate(self.basis.criteria)}
        listed: Columns = (
            ("run_a", "Run", "text"),
            ("run_b", "against", "text"),
            ("n_models", "Models", "count"),
            ("overall", "Overall", "number"),
            ("overall_low", "from", "number"),
            ("overall_high", "to", "number"),
            *((key, name, "number") for name, key in criteria.items()),
            ("same_at_05", "Same conclusions, p < .05", "share"),
            ("same_at_10", "p < .1", "share"),
        )
        rows = [
            {**row.model_dump(), **{key: row.correlations[name].estimate for name, key in criteria.items()}}
            for row in self.replications
        ]
        title = "Replication: correlation of the scores of two runs"
        return row_table("direct_assessment_replications", title, listed, rows)

    def figures(self) -> list[views.Figure]:
        scores = views.interval_figures(
            "direct_assessment_scores",
            "Overall score of each model, with its interval",
            "overall z (0: the mean of all that a worker rated)",
            [(model.model, model.z_overall) for model in self.models],
            reference=0.0,
        )
        middles = tuple(round(-1 + 2 / TENTHS * (place + 0.5), 6) for place in range(TENTHS))
        agreement = views.curve_figures(
            "direct_assessment_rater_agreement",
            "Agreement of two raters of the same models",
            ("Pearson's r of two raters", "share of pairs"),
            (views.Curve(name=row.workers, x=middles, y=tuple(row.histogram)) for row in self.rater_pairs),
            share=True,
        )
        tests, models, correlations = self.significance, self.significance.models, self.correlations
        better = "p that the model of the row is better than that of the column (rank-sum, one-sided)"
        differ = "p that the two models differ (clustered, Holm)"
        alike = "Pearson correlation of criteria over models"
        heats = [
            views.square("direct_assessment_significance", better, models, tests.p, "p"),
            views.square("direct_assessment_significance_clustered", differ, models, tests.p_clustered, "p"),
            views.square("direct_assessment_criteria", alike, correlations.labels, correlations.pearson, "correlation"),
        ]
        # Of two models there is one p, which the table has; a correlation over two models is 1 or −1, whatever they are.
        return [*scores, *(heats if len(self.models) > 2 else ()), *agreement]

    def methods(self) -> list[views.Method]:
        def how(**names: object) -> Iterator[views.Method]:
            yield from (views.method("direct_assessment", name) for name, applies in names.items() if applies)

        return [
            *how(worker_check=self.workers.passed is not None, scores=True),
            conclusions.BY_WORKER,
            *conclusions.reuse_methods(
                [pair.difference for pair in self.pairs] or [row.z_overall for row in self.models]
            ),
            *how(significance=self.pairs),
            *conclusions.holm_methods(pair.difference for pair in self.pairs),
            *how(correlation_of_criteria=True, agreement_of_raters=self.rater_pairs, replication=self.replications),
        ]


def build(tables: Tables, options: Options) -> DirectAssessment | None:
    """How good each model was found; reads ``ratings``, and ``dialogues`` for times and opinions. Raises TableError: a
    rating is beyond the ends of its scale."""
    data = assessed(tables)
    if data is None:
        return None
    assessment = assess(data, tables, options)
    words = _told(assessment)
    remarks = [*data.remarks, *words["remarks"]]
    return DirectAssessment(**dict(assessment), headline=words["headline"], remarks=remarks)


def _told(section: Assessment) -> dict[str, Any]:
    """Headline and remarks."""
    pairs = section.pairs
    differences = [pair.difference for pair in pairs]
    tested = [line for line in section.lines if line.differs is not None]
    apart = sorted((line for line in tested if line.differs), key=lambda line: -(line.gap or 0.0))
    named = [(f"{pair.model_a} against {pair.model_b}", pair.paper, pair.difference) for pair in pairs]
    scores = [result for model in section.models for result in (model.z_overall, model.raw_overall) if result.n]
    notes = {sentence(note) for result in scores for note in result.notes if not note.startswith(ABOUT_THESE)}
    return told(
        "direct_assessment",
        s=section,
        scored=[model for model in section.models if model.z_overall.estimate is not None],
        tested=tested,
        apart=apart,
        by_dialogue=any(line.by_dialogue for line in tested),
        lacking=[
            model.model
            for model in section.models
            if any(name not in model.raw or model.raw[name].estimate is None for name in section.basis.criteria)
        ],
        disagreeing=list(filter(None, starmap(conclusions.results_disagree, named))),
        about_tests=[*conclusions.counted_once(differences), *conclusions.about_dialogues(differences), *sorted(notes)],
        named=NAMED,
        absent=ABSENT,
        pair_p=conclusions.pair_p,
    )


def _scores_tables(models: Sequence[SystemScore], criteria: Sequence[str]) -> Iterator[views.DataTable]:
    """As the paper's Table 3 (z) and Table 10 (raw)."""
    note = "Scores of reversed criteria are inverted, so higher is always better. The degraded model is left out."
    keys = {name: f"criterion_{place}" for place, name in enumerate(criteria)}
    everyone: Columns = (
        ("everyone", "Overall, all workers", "number"),
        ("n_dialogues_everyone", "Dialogues, all workers", "count"),
    )
    listed: Columns = (
        ("rank", "Rank", "count"),
        ("model", "Model", "text"),
        ("n_ratings", "Ratings", "count"),
        ("overall", "Overall", "number"),
        ("low", "from", "number"),
        ("high", "to", "number"),
        *((key, name, "number") for name, key in keys.items()),
    )
    for of, title, overall, by_criterion in (
        ("z", "Standardised scores (z) by criterion", "overall", "criteria"),
        ("raw", "Raw scores by criterion", "raw_overall", "raw"),
    ):
        rows: list[dict[str, views.Cell]] = []
        for model in models:
            published = model.model_dump()
            ends_of = {"low": published[f"{overall}_low"], "high": published[f"{overall}_high"]}
            cells = {keys[name]: score for name, score in published[by_criterion].items()}
            rows.append({**published, "overall": published[overall], **ends_of, **cells})
        more = everyone if of == "z" and any(model.everyone for model in models) else ()
        yield row_table(f"direct_assessment_{of}", title, (*listed, *more), rows, (note,))
