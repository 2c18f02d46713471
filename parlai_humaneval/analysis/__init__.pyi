"""The public names, each from its module; the module beside this file loads them on use."""

from parlai_humaneval.planning.inputs import PlanError, PlanInputs
from parlai_humaneval.planning.pilot import Pilot, pilot_of
from parlai_humaneval.planning.plan import Plan, compare_techniques, plan_study
from parlai_humaneval.planning.power import (
    binomial_power,
    chi2_noncentrality,
    cochran_q_size,
    exact_binomial_sizes,
    goodness_of_fit_size,
    mcnemar_size,
    one_proportion_size,
    rank_sum_size,
    two_proportions_size,
)
from parlai_humaneval.planning.simulation import simulated_power
from parlai_humaneval.planning.stopping import plan_until_decided
from parlai_humaneval.planning.stopping_summary import UntilDecided
from parlai_humaneval.report.build import build_report
from parlai_humaneval.report.document import Document
from parlai_humaneval.report.render.files import write_document
from parlai_humaneval.report.render.terminal import print_document, print_report_summary
from parlai_humaneval.statistics.core.clustered import (
    ClusterSums,
    cluster_bootstrap,
    cluster_sums,
    clustered_share,
    sign_flip_p,
)
from parlai_humaneval.statistics.core.clustering_effects import (
    design_effect,
    detectable_gap,
    effective_number,
    intraclass_correlation,
    observations_per_cluster,
)
from parlai_humaneval.statistics.core.correlation import (
    RaterPairs,
    correlation,
    criteria_correlations,
    kendall_tau_b,
    rater_pairs,
)
from parlai_humaneval.statistics.core.effect_sizes import paired_superiority, superiority_of_difference
from parlai_humaneval.statistics.core.means import clustered_difference, clustered_mean, t_test
from parlai_humaneval.statistics.core.multiplicity import holm
from parlai_humaneval.statistics.core.proportions import ClusteredRate, RateTest, extreme_rate_test
from parlai_humaneval.statistics.core.ranks import rank_clusters, rank_range, rank_range_shortest, rank_sum_test
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.sequential import (
    anytime_p_values,
    crossing,
    e_values,
    equality_evidence,
    order_evidence,
    score_evidence,
    share_interval,
    t_p_values,
)
from parlai_humaneval.statistics.core.shares import (
    binomial_p,
    binomial_p_values,
    binomial_test,
    wald_interval,
    wilson_interval,
)
from parlai_humaneval.statistics.core.sign_flip import joint_sign_flip_p, sign_flip_interval, sign_flip_p_value
from parlai_humaneval.statistics.core.two_way import crossed_difference, crossed_mean, crossed_share, two_way_share
from parlai_humaneval.statistics.judges.tables import prediction_powered
from parlai_humaneval.statistics.preference.leave_one_out import LeftOut, leave_one_out
from parlai_humaneval.statistics.preference.pairs import (
    ModelWins,
    PairWins,
    counted_comparisons,
    first_shown,
    model_wins,
    orient_pairs,
    wins_of_pairs,
)
from parlai_humaneval.statistics.preference.reasons import mean_words, reasons, top_terms, word_counts
from parlai_humaneval.statistics.preference.tests import (
    TurnTest,
    cochran_q_test,
    compare_choices,
    compare_singles,
    compare_with_baseline,
    equal_rates_test,
    goodness_of_fit_test,
    holm_corrected,
    mcnemar_test,
)
from parlai_humaneval.statistics.preference.turn_dependence import (
    FirstChoice,
    Reselection,
    first_choice,
    first_place,
    reselection,
)
from parlai_humaneval.statistics.preference.win_rates import (
    effective_win_rate,
    effective_win_test,
    lin_pooled,
    linear_win_rate,
    pw_combo_score,
    sm_combo_score,
    sm_wta,
    squared_win_rate,
    winner_takes_all,
)
from parlai_humaneval.statistics.ranking.best_set import BestSet, best_of_means, best_set
from parlai_humaneval.statistics.ranking.bradley_terry import bradley_terry
from parlai_humaneval.statistics.ranking.fit import Strengths
from parlai_humaneval.statistics.ranking.from_tables import comparison_strengths, turn_strengths
from parlai_humaneval.statistics.ranking.plackett_luce import plackett_luce
from parlai_humaneval.statistics.ranking.stability import (
    ScoreRange,
    StabilityPoint,
    ranking_agreement,
    same_ranking_share,
    score_ranges,
    stability_curves,
)
from parlai_humaneval.statistics.ranking.trueskill import (
    Skill,
    conservative_skill,
    free_for_all_points,
    free_for_all_ranks,
    free_for_all_ratings,
    rate_free_for_all,
    rate_two_player,
    shuffle_interval,
    trueskill,
)
from parlai_humaneval.statistics.ranking.trueskill_update import SkillModel
from parlai_humaneval.statistics.raters.agreement import (
    cohen_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    pair_agreement,
    percent_agreement,
    rating_counts,
)
from parlai_humaneval.statistics.raters.time import TimedAnswers, TimeSpent, idle_answers, time_spent, timed_answers
from parlai_humaneval.statistics.raters.time_to_significance import (
    ChunkVariability,
    TimeToSignificance,
    chunk_variability,
    collection_time,
    cumulative_time,
    dialogues_needed,
    time_to_difference,
    time_to_significance,
)
from parlai_humaneval.statistics.ratings.combined import pair_combo, single_combos
from parlai_humaneval.statistics.ratings.likert import (
    RatedCriterion,
    RatedPair,
    final_scores,
    likert_groups,
    mean_rating,
    rated_pairs,
)
from parlai_humaneval.statistics.ratings.regression import TurnWeights, ols, turn_rates, turn_weights
from parlai_humaneval.statistics.ratings.replications import replication, same_conclusions
from parlai_humaneval.statistics.ratings.sliders import (
    is_reversed,
    reverse_scored,
    standardise,
    standardised,
    worker_checks,
)
from parlai_humaneval.statistics.ratings.standardised import (
    ScoreGap,
    SystemScore,
    overall_score,
    score_gaps,
    system_scores,
)
from parlai_humaneval.statistics.survival.cox import CoxFit, cloglog_cox
from parlai_humaneval.statistics.survival.curve import survival_curve, survival_with_bands
from parlai_humaneval.statistics.survival.spotting import (
    StabilityCurve,
    bootstrap_ranks,
    bot_contests,
    ranking_stability,
    spot_the_bot_segments,
    win_by_label,
)
from parlai_humaneval.statistics.survival.tests import (
    LogRank,
    clustered_score_test,
    logrank_scores,
    logrank_test,
    permutation_logrank_test,
    survival_score_test,
    zhao_sun_scores,
    zhao_sun_test,
)
from parlai_humaneval.stopping.replay import Replay, replay_sequential
from parlai_humaneval.stopping.rule import StoppingRule
from parlai_humaneval.tables.build import Tables, tables
from parlai_humaneval.tables.choices import ComparisonGroup, choice_groups
from parlai_humaneval.tables.columns import TableError
from parlai_humaneval.tables.files import read_tables, write_tables
from parlai_humaneval.tables.filters import on_sliders
from parlai_humaneval.tables.schema import COLUMNS

__all__ = [
    "COLUMNS",
    "BestSet",
    "ChunkVariability",
    "ClusterSums",
    "ClusteredRate",
    "ComparisonGroup",
    "CoxFit",
    "Document",
    "FirstChoice",
    "LeftOut",
    "LogRank",
    "ModelWins",
    "PairWins",
    "Pilot",
    "Plan",
    "PlanError",
    "PlanInputs",
    "RateTest",
    "RatedCriterion",
    "RatedPair",
    "RaterPairs",
    "Replay",
    "Reselection",
    "Result",
    "ScoreGap",
    "ScoreRange",
    "Skill",
    "SkillModel",
    "StabilityCurve",
    "StabilityPoint",
    "StoppingRule",
    "Strengths",
    "SystemScore",
    "TableError",
    "Tables",
    "TimeSpent",
    "TimeToSignificance",
    "TimedAnswers",
    "TurnTest",
    "TurnWeights",
    "UntilDecided",
    "anytime_p_values",
    "best_of_means",
    "best_set",
    "binomial_p",
    "binomial_p_values",
    "binomial_power",
    "binomial_test",
    "bootstrap_ranks",
    "bot_contests",
    "bradley_terry",
    "build_report",
    "chi2_noncentrality",
    "choice_groups",
    "chunk_variability",
    "cloglog_cox",
    "cluster_bootstrap",
    "cluster_sums",
    "clustered_difference",
    "clustered_mean",
    "clustered_score_test",
    "clustered_share",
    "cochran_q_size",
    "cochran_q_test",
    "cohen_kappa",
    "collection_time",
    "compare_choices",
    "compare_singles",
    "compare_techniques",
    "compare_with_baseline",
    "comparison_strengths",
    "conservative_skill",
    "correlation",
    "counted_comparisons",
    "criteria_correlations",
    "crossed_difference",
    "crossed_mean",
    "crossed_share",
    "crossing",
    "cumulative_time",
    "design_effect",
    "detectable_gap",
    "dialogues_needed",
    "e_values",
    "effective_number",
    "effective_win_rate",
    "effective_win_test",
    "equal_rates_test",
    "equality_evidence",
    "exact_binomial_sizes",
    "extreme_rate_test",
    "final_scores",
    "first_choice",
    "first_place",
    "first_shown",
    "fleiss_kappa",
    "free_for_all_points",
    "free_for_all_ranks",
    "free_for_all_ratings",
    "goodness_of_fit_size",
    "goodness_of_fit_test",
    "holm",
    "holm_corrected",
    "idle_answers",
    "intraclass_correlation",
    "is_reversed",
    "joint_sign_flip_p",
    "kendall_tau_b",
    "krippendorff_alpha",
    "leave_one_out",
    "likert_groups",
    "lin_pooled",
    "linear_win_rate",
    "logrank_scores",
    "logrank_test",
    "mcnemar_size",
    "mcnemar_test",
    "mean_rating",
    "mean_words",
    "model_wins",
    "observations_per_cluster",
    "ols",
    "on_sliders",
    "one_proportion_size",
    "order_evidence",
    "orient_pairs",
    "overall_score",
    "pair_agreement",
    "pair_combo",
    "paired_superiority",
    "percent_agreement",
    "permutation_logrank_test",
    "pilot_of",
    "plackett_luce",
    "plan_study",
    "plan_until_decided",
    "prediction_powered",
    "print_document",
    "print_report_summary",
    "pw_combo_score",
    "rank_clusters",
    "rank_range",
    "rank_range_shortest",
    "rank_sum_size",
    "rank_sum_test",
    "ranking_agreement",
    "ranking_stability",
    "rate_free_for_all",
    "rate_two_player",
    "rated_pairs",
    "rater_pairs",
    "rating_counts",
    "read_tables",
    "reasons",
    "register_statistic",
    "replay_sequential",
    "replication",
    "reselection",
    "reverse_scored",
    "same_conclusions",
    "same_ranking_share",
    "score_evidence",
    "score_gaps",
    "score_ranges",
    "share_interval",
    "shuffle_interval",
    "sign_flip_interval",
    "sign_flip_p",
    "sign_flip_p_value",
    "simulated_power",
    "single_combos",
    "sm_combo_score",
    "sm_wta",
    "spot_the_bot_segments",
    "squared_win_rate",
    "stability_curves",
    "standardise",
    "standardised",
    "superiority_of_difference",
    "survival_curve",
    "survival_score_test",
    "survival_with_bands",
    "system_scores",
    "t_p_values",
    "t_test",
    "tables",
    "time_spent",
    "time_to_difference",
    "time_to_significance",
    "timed_answers",
    "top_terms",
    "trueskill",
    "turn_rates",
    "turn_strengths",
    "turn_weights",
    "two_proportions_size",
    "two_way_share",
    "wald_interval",
    "wilson_interval",
    "win_by_label",
    "winner_takes_all",
    "wins_of_pairs",
    "word_counts",
    "worker_checks",
    "write_document",
    "write_tables",
    "zhao_sun_scores",
    "zhao_sun_test",
]

def register_statistic(name: str, module: str) -> None: ...
