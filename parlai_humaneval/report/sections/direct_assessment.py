"""Section ``direct_assessment``: 0–100 slider ratings by workers who can tell a degraded model (Ji et al. 2022)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import starmap
from typing import Any, ClassVar

from parlai_humaneval.report import conclusions, views
from parlai_humaneval.report.section import ModelLine, Options, Section, SectionLeftOut, Summary, told
from parlai_humaneval.report.sections.direct_numbers import TENTHS, Assessment, CheckedRow, assess
from parlai_humaneval.statistics.core.formatting import ABSENT, counted, sentence
from parlai_humaneval.statistics.core.multiplicity import Family
from parlai_humaneval.statistics.core.two_way import ABOUT_THESE
from parlai_humaneval.statistics.ratings.sliders import OVERALL, TECHNIQUE, SystemScore, assessed
from parlai_humaneval.tables.build import Tables

NAMED = 6
"""The most disagreements, and pairs that differ, to name."""


class DirectAssessment(Assessment, Section):
    """Slider ratings of each model, the best model first."""

    TITLE: ClassVar[str] = "Direct assessment"

    def left_out(self) -> SectionLeftOut | None:
        if not self.workers.left_out:
            return None
        why = "did not rate the degraded model, which is bad on purpose, lower than the others"
        return SectionLeftOut(section=self.TITLE, why=why, workers=self.workers.left_out, of=self.workers.total)

    def summary(self) -> list[Summary]:
        of = {row.model: (row.z_overall, row.n_dialogues) for row in self.models}
        lines = [ModelLine.of(model, z, "dialogues", share=False, n=n) for model, (z, n) in of.items()]
        return [
            Summary(
                section="direct_assessment",
                **Family(TECHNIQUE, self.basis.setting, self.basis.metric, OVERALL)._asdict(),
                what="overall z (0: the mean over everything that a rater rated)",
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
        # As the last row of the paper's Table 3.
        criteria = {f"criterion_{j}": name for j, name in enumerate(self.basis.criteria)}
        rows = [
            {**row.model_dump(), **{key: row.correlations[name].estimate for key, name in criteria.items()}}
            for row in self.replications
        ]
        # As the paper's Table 8: Pearson in the upper right half, Spearman in the lower left; no rows of one model.
        correlations, names = self.correlations, self.correlations.labels
        columns = {f"criterion_{j}": label for j, label in enumerate(names)}
        correlated: list[dict[str, views.Cell]] = []
        for i, label in enumerate(names if len(self.models) > 1 else ()):
            halves = [*correlations.spearman[i][:i], None, *correlations.pearson[i][i + 1 :]]
            correlated.append({"criterion": label, **dict(zip(columns, halves, strict=True))})
        return views.shown(
            *_scores_tables(self.models, self.basis.criteria),
            self._workers_table(),
            views.table("direct_assessment_pairs", self.pairs, *cited),
            views.table("direct_assessment_settings", self.settings),
            views.criteria_table("direct_assessment_correlations", columns, correlated),
            views.table("direct_assessment_opinions", self.opinions),
            views.table("direct_assessment_raters", self.rater_pairs),
            views.criteria_table("direct_assessment_replications", criteria, rows),
        )

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
        return views.table("direct_assessment_workers", rows, note)

    def figures(self) -> list[views.Figure]:
        of_models = [(model.model, model.z_overall) for model in self.models]
        scores = views.interval_figures(**views.look("direct_assessment_scores"), results=of_models)
        middles = tuple(round(-1 + 2 / TENTHS * (place + 0.5), 6) for place in range(TENTHS))
        curves = (views.Curve(name=row.workers, x=middles, y=tuple(row.histogram)) for row in self.rater_pairs)
        agreement = views.curve_figures(**views.look("direct_assessment_rater_agreement"), curves=curves)
        tests, criteria = self.significance, self.correlations
        heats = [
            views.square(**views.look(f"direct_assessment_{of}"), names=names, values=values)
            for of, names, values in (
                ("significance", tests.models, tests.p),
                ("significance_clustered", tests.models, tests.p_clustered),
                ("criteria", criteria.labels, criteria.pearson),
            )
        ]
        # With two models there is a single p, which is in the table; a correlation over two models is always 1 or −1.
        return [*scores, *(heats if len(self.models) > 2 else ()), *agreement]

    def methods(self) -> list[views.Method]:
        def how(**names: object) -> Iterator[views.Method]:
            yield from (views.method("direct_assessment", name) for name, applies in names.items() if applies)

        differences = [pair.difference for pair in self.pairs]
        return [
            *how(worker_check=self.workers.passed is not None, scores=True),
            conclusions.BY_WORKER,
            *conclusions.reuse_methods(differences or [row.z_overall for row in self.models]),
            *how(significance=self.pairs),
            *conclusions.holm_methods(differences),
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
    keys = {name: f"criterion_{place}" for place, name in enumerate(criteria)}
    for of, overall, by_criterion in (("z", "overall", "criteria"), ("raw", "raw_overall", "raw")):
        rows: list[dict[str, views.Cell]] = []
        for model in models:
            published = model.model_dump()
            ends_of = {"low": published[f"{overall}_low"], "high": published[f"{overall}_high"]}
            cells = {keys[name]: score for name, score in published[by_criterion].items()}
            rows.append({**published, "overall": published[overall], **ends_of, **cells})
        of_all = of == "z" and any(model.everyone for model in models)
        hidden = () if of_all else ("everyone", "n_dialogues_everyone")
        yield views.criteria_table(f"direct_assessment_{of}", {key: name for name, key in keys.items()}, rows, hidden)
