"""What the section on direct assessment holds."""

from __future__ import annotations

from pydantic import Field

from parlai_humaneval.report.section import Part

Score = float | None


class ModelRow(Part):
    """One model, ratings turned so that more is better.

    ``overall``, ``criteria``: standardised by worker; ``raw_overall``, ``raw``: on the slider's scale. Ends of intervals
    (clustered by worker) stand under the same names with ``_low`` and ``_high``. ``rank``: by ``overall``, 1 the best.
    """

    model: str
    rank: int | None
    n_ratings: int
    n_dialogues: int
    n_workers: int
    overall: Score
    overall_low: Score
    overall_high: Score
    raw_overall: Score
    raw_overall_low: Score
    raw_overall_high: Score
    criteria: dict[str, Score]
    criteria_low: dict[str, Score]
    criteria_high: dict[str, Score]
    raw: dict[str, Score]
    raw_low: dict[str, Score]
    raw_high: dict[str, Score]


class WorkerCount(Part):
    """``passed``: who rated the degraded model lower; None where there was none, so that nobody could be checked.

    ``counted``: on whom the scores rest. ``constant``: who gave one and the same rating throughout. ``left_out``: ids of
    those who did not pass and therefore do not count; empty where everybody counts.
    """

    total: int
    passed: int | None
    counted: int
    constant: int
    left_out: list[str] = Field(default_factory=list)


class DialogueCount(Part):
    """Rated dialogues without the degraded model's, and how long one took (mean minutes); None: not known.

    ``passed`` and ``failed``: of workers who passed the check, and who did not.
    """

    total: int
    passed: int | None
    minutes: Score
    minutes_passed: Score
    minutes_failed: Score


class PairRow(Part):
    """Model A, the one with the better rank, against B by overall z.

    ``p_a_higher``, ``p_b_higher``: the paper's one-sided rank-sum tests; ``p_value``: two-sided of both, ``p_holm`` of
    them all. ``difference`` with interval, ``p_clustered`` and ``p_clustered_holm``: clustered by worker.
    """

    model_a: str
    model_b: str
    difference: Score
    ci_low: Score
    ci_high: Score
    p_a_higher: float
    p_b_higher: float
    p_value: float
    p_holm: Score
    p_clustered: Score
    p_clustered_holm: Score


class Significance(Part):
    """``p[i][j]``: one-sided rank-sum p that the model of row i is better than that of column j; None on the diagonal.

    ``p_clustered[i][j]``: two-sided, clustered by worker, after Holm's correction.
    """

    models: list[str]
    p: list[list[Score]]
    p_clustered: list[list[Score]]


class Correlations(Part):
    """Of the raw scores of models on each two criteria."""

    criteria: list[str]
    pearson: list[list[Score]]
    spearman: list[list[Score]]


class OpinionRow(Part):
    """What raters thought of the topic. ``n``: dialogues, the degraded model's too, as the paper counts them.

    ``share_passed``, ``share_failed``: of the dialogues of these workers. ``overall``: mean z of the dialogues that
    count, clustered by worker.
    """

    opinion: str
    n: int
    share: float
    share_passed: Score
    share_failed: Score
    n_scored: int
    overall: Score
    overall_low: Score
    overall_high: Score


class RaterPairsRow(Part):
    """Pearson's r of each two ``workers`` (all, passed or failed) who rated the same models: quartiles over pairs.

    ``histogram``: share of pairs with r in tenths, from −1 to 1.
    """

    workers: str
    n_pairs: int
    n_workers: int
    median: Score
    first_quartile: Score
    third_quartile: Score
    histogram: list[float]


class ReplicationRow(Part):
    """Two runs of the study: r over models by criterion, and the share of pairs with the same conclusion."""

    run_a: str
    run_b: str
    n_models: int
    r: dict[str, Score]
    overall_low: Score
    overall_high: Score
    same_at_05: Score
    same_at_10: Score


class Basis(Part):
    """``who``: ``passed`` (workers who passed the check), ``everyone`` (nobody could be checked) or ``nobody_passed``
    (then the scores are of everyone, and not to be trusted). ``criteria``: in the order of the table."""

    who: str
    criteria: list[str]
    reversed: list[str] = Field(default_factory=list)
