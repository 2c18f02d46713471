"""The public names, each from its module; the module beside this file loads them on use."""

from .choice_tests import cochran_q_test, goodness_of_fit_test, mcnemar_test
from .clustered import ClusterSums, cluster_bootstrap, cluster_sums, clustered_share, sign_flip_p
from .columns import COLUMNS, TableError
from .correction import holm
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
from .ranks import rank_clusters, rank_range, rank_range_shortest
from .regression import ols
from .reports.study import render, study_report
from .reports.types import Report
from .result import Result, results_table
from .sequential import anytime_p_values, binomial_p_values, crossing, e_values, t_p_values
from .skill import Skill, trueskill
from .slider_scores import standardised, worker_checks
from .spot_stability import StabilityCurve, ranking_stability
from .spotting import bootstrap_ranks, bot_contests, judged_segments, label_winner
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
    "Report",
    "Reselection",
    "Result",
    "Skill",
    "StabilityCurve",
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
    "collection_time",
    "combo",
    "compare_choices",
    "compare_singles",
    "compare_techniques",
    "compare_with_baseline",
    "count_dialogues",
    "counted_comparisons",
    "crossing",
    "cumulative_time",
    "dialogues_needed",
    "e_values",
    "effective_win_rate",
    "effective_win_test",
    "equal_rates_test",
    "exact_binomial_sizes",
    "final_scores",
    "first_choice",
    "first_place",
    "first_shown",
    "goodness_of_fit_size",
    "goodness_of_fit_test",
    "holm",
    "judged_segments",
    "label_winner",
    "leave_one_out",
    "likert_groups",
    "lin",
    "lin_pooled",
    "logrank_scores",
    "logrank_test",
    "mcnemar_size",
    "mcnemar_test",
    "mean_rating",
    "mean_words",
    "model_wins",
    "ols",
    "one_proportion_size",
    "oriented",
    "permutation_logrank_test",
    "plan_study",
    "rank_clusters",
    "rank_range",
    "rank_range_shortest",
    "rank_sum_size",
    "ranking_stability",
    "rated_pairs",
    "read_tables",
    "reasons",
    "render",
    "reselection",
    "results_table",
    "sign_flip_p",
    "simulated_power",
    "sm_combo",
    "sm_wta",
    "spent_by_unit",
    "sqr",
    "standardised",
    "study_report",
    "success_rate",
    "survival_curve",
    "survival_score_test",
    "survival_with_bands",
    "t_p_values",
    "t_test",
    "tables",
    "time_to_difference",
    "time_to_significance",
    "top_terms",
    "trueskill",
    "turn_rates",
    "two_proportions_size",
    "two_way_share",
    "wald_interval",
    "weigh_turns",
    "wilson_interval",
    "wins_of_pairs",
    "with_holm",
    "word_counts",
    "worker_checks",
    "write_tables",
    "wta",
    "zhao_sun_scores",
    "zhao_sun_test",
]
