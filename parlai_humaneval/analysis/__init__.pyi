"""The public names, each from its module; the module beside this file loads them on use."""

from .agreement import cohen_kappa, fleiss_kappa, krippendorff_alpha, pair_agreement, percent_agreement, rating_counts
from .choice_tests import cochran_q_test, goodness_of_fit_test, mcnemar_test
from .clustered import ClusterSums, cluster_bootstrap, cluster_sums, clustered_share, sign_flip_p
from .columns import COLUMNS, TableError
from .combos import pair_combo, single_combos
from .correction import holm
from .correlations import correlation, criteria_correlations
from .crowd_time import (
    ChunkVariability,
    TimeToSignificance,
    chunk_variability,
    collection_time,
    cumulative_time,
    dialogues_needed,
    time_to_difference,
    time_to_significance,
)
from .design_effects import design_effect, effective_number, intraclass_correlation, observations_per_cluster
from .detectable import detectable_gap
from .document.files import write_document
from .document.making import make_document
from .document.model import Document
from .effective_wins import effective_win_test
from .frames import Tables, tables
from .generalised_logrank import LogRank, logrank_scores, logrank_test, zhao_sun_scores, zhao_sun_test
from .justifications import mean_words, reasons, top_terms, word_counts
from .likert import RatedCriterion, RatedPair, final_scores, likert_groups, mean_rating, rated_pairs
from .means import clustered_difference, clustered_mean, t_test
from .pair_wins import ModelWins, PairWins, counted_comparisons, first_shown, model_wins, oriented, wins_of_pairs
from .pairwise_report import PairwiseReport
from .planning.comparing import compare_techniques
from .planning.inputs import PlanError, PlanInputs
from .planning.power import binomial_power, exact_binomial_sizes
from .planning.sample_sizes import (
    chi2_noncentrality,
    cochran_q_size,
    goodness_of_fit_size,
    mcnemar_size,
    one_proportion_size,
    rank_sum_size,
    two_proportions_size,
)
from .planning.simulate import simulated_power
from .planning.study_plan import Plan, plan_study
from .proportions import binomial_p, binomial_test, success_rate, wald_interval, wilson_interval
from .rank_correlation import kendall_tau_b
from .rank_stability import (
    ScoreRange,
    StabilityPoint,
    ranking_agreement,
    same_ranking_share,
    score_ranges,
    stability_curves,
)
from .rank_tests import rank_sum_test
from .ranks import rank_clusters, rank_range, rank_range_shortest
from .rater_correlations import RaterPairs, rater_pairs
from .regression import ols
from .repeated_runs import replication, same_conclusions
from .reports.study import render, study_report
from .reports.types import Report
from .result import Result, results_table
from .sequential import anytime_p_values, binomial_p_values, crossing, e_values, t_p_values
from .skill import Skill, conservative, ffa_points, ffa_ranks, shuffle_interval, trueskill
from .skill_batch import free_for_all_ratings, rate_free_for_all, rate_two_player
from .skill_update import SkillModel
from .slider_scores import is_reversed, on_sliders, standardise, standardised, turned, worker_checks
from .spot_stability import StabilityCurve, ranking_stability
from .spotting import bootstrap_ranks, bot_contests, judged_segments, label_winner
from .standardised_scores import ScoreGap, SystemScore, overall_score, score_gaps, system_scores
from .strengths import Strengths, bradley_terry, comparison_strengths, plackett_luce, turn_strengths
from .survival import survival_curve
from .survival_bands import survival_with_bands
from .survival_regression import CoxFit, cloglog_cox
from .survival_tests import clustered_score_test, permutation_logrank_test, survival_score_test
from .table_files import read_tables, write_tables
from .time_spent import spent_by_unit
from .timed_answers import TimedAnswers, answers_in_time
from .turn_patterns import FirstChoice, Reselection, first_choice, first_place, reselection
from .turn_subsets import LeftOut, leave_one_out
from .turn_tables import ChoiceGroup, choice_groups
from .turn_tests import (
    TurnTest,
    compare_choices,
    compare_singles,
    compare_with_baseline,
    equal_rates_test,
    with_holm,
)
from .turn_weights import TurnWeights, turn_rates, weigh_turns
from .two_way import two_way_share
from .win_rates import combo, count_dialogues, effective_win_rate, lin, lin_pooled, sm_combo, sm_wta, sqr, wta

__all__ = [
    "COLUMNS",
    "ChoiceGroup",
    "ChunkVariability",
    "ClusterSums",
    "CoxFit",
    "Document",
    "FirstChoice",
    "LeftOut",
    "LogRank",
    "ModelWins",
    "PairWins",
    "PairwiseReport",
    "Plan",
    "PlanError",
    "PlanInputs",
    "RatedCriterion",
    "RatedPair",
    "RaterPairs",
    "Report",
    "Reselection",
    "Result",
    "ScoreGap",
    "ScoreRange",
    "Skill",
    "SkillModel",
    "StabilityCurve",
    "StabilityPoint",
    "Strengths",
    "SystemScore",
    "TableError",
    "Tables",
    "TimeToSignificance",
    "TimedAnswers",
    "TurnTest",
    "TurnWeights",
    "answers_in_time",
    "anytime_p_values",
    "binomial_p",
    "binomial_p_values",
    "binomial_power",
    "binomial_test",
    "bootstrap_ranks",
    "bot_contests",
    "bradley_terry",
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
    "combo",
    "compare_choices",
    "compare_singles",
    "compare_techniques",
    "compare_with_baseline",
    "comparison_strengths",
    "conservative",
    "correlation",
    "count_dialogues",
    "counted_comparisons",
    "criteria_correlations",
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
    "exact_binomial_sizes",
    "ffa_points",
    "ffa_ranks",
    "final_scores",
    "first_choice",
    "first_place",
    "first_shown",
    "fleiss_kappa",
    "free_for_all_ratings",
    "goodness_of_fit_size",
    "goodness_of_fit_test",
    "holm",
    "intraclass_correlation",
    "is_reversed",
    "judged_segments",
    "kendall_tau_b",
    "krippendorff_alpha",
    "label_winner",
    "leave_one_out",
    "likert_groups",
    "lin",
    "lin_pooled",
    "logrank_scores",
    "logrank_test",
    "make_document",
    "mcnemar_size",
    "mcnemar_test",
    "mean_rating",
    "mean_words",
    "model_wins",
    "observations_per_cluster",
    "ols",
    "on_sliders",
    "one_proportion_size",
    "oriented",
    "overall_score",
    "pair_agreement",
    "pair_combo",
    "percent_agreement",
    "permutation_logrank_test",
    "plackett_luce",
    "plan_study",
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
    "render",
    "replication",
    "reselection",
    "results_table",
    "same_conclusions",
    "same_ranking_share",
    "score_gaps",
    "score_ranges",
    "shuffle_interval",
    "sign_flip_p",
    "simulated_power",
    "single_combos",
    "sm_combo",
    "sm_wta",
    "spent_by_unit",
    "sqr",
    "stability_curves",
    "standardise",
    "standardised",
    "study_report",
    "success_rate",
    "survival_curve",
    "survival_score_test",
    "survival_with_bands",
    "system_scores",
    "t_p_values",
    "t_test",
    "tables",
    "time_to_difference",
    "time_to_significance",
    "top_terms",
    "trueskill",
    "turn_rates",
    "turn_strengths",
    "turned",
    "two_proportions_size",
    "two_way_share",
    "wald_interval",
    "weigh_turns",
    "wilson_interval",
    "wins_of_pairs",
    "with_holm",
    "word_counts",
    "worker_checks",
    "write_document",
    "write_tables",
    "wta",
    "zhao_sun_scores",
    "zhao_sun_test",
]
