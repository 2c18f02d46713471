"""The public names, each from its module; the module beside this file loads them on use."""

from parlai_humaneval.planning.inputs import PlanInputs
from parlai_humaneval.planning.made_studies import simulated_power
from parlai_humaneval.planning.pilot import pilot_of
from parlai_humaneval.planning.plan import Plan, compare_techniques, plan_study
from parlai_humaneval.planning.power import (
    cochran_q_size,
    goodness_of_fit_size,
    mcnemar_size,
    one_proportion_size,
    two_proportions_size,
)
from parlai_humaneval.planning.stopping import plan_until_decided
from parlai_humaneval.report.build import build_report
from parlai_humaneval.report.document import Document
from parlai_humaneval.report.render.files import write_document
from parlai_humaneval.report.render.terminal import print_document, print_report_summary
from parlai_humaneval.statistics.core.clustered import cluster_sums, clustered_share
from parlai_humaneval.statistics.core.clustering_effects import design_effect, intraclass_correlation
from parlai_humaneval.statistics.core.means import clustered_difference, clustered_mean, t_test
from parlai_humaneval.statistics.core.multiplicity import holm
from parlai_humaneval.statistics.core.ranks import correlation, rank_sum_test
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.sequential import (
    anytime_p_values,
    equality_evidence,
    order_evidence,
    share_interval,
)
from parlai_humaneval.statistics.core.shares import binomial_test, wilson_interval
from parlai_humaneval.statistics.core.sign_flip import sign_flip_p_value
from parlai_humaneval.statistics.judges.tables import prediction_powered
from parlai_humaneval.statistics.preference.pairs import orient_pairs, wins_of_pairs
from parlai_humaneval.statistics.preference.tests import (
    cochran_q_test,
    compare_choices,
    compare_singles,
    goodness_of_fit_test,
    mcnemar_test,
)
from parlai_humaneval.statistics.preference.win_rates import (
    effective_win_test,
    linear_win_rate,
    squared_win_rate,
    winner_takes_all,
)
from parlai_humaneval.statistics.ranking.bradley_terry import bradley_terry
from parlai_humaneval.statistics.ranking.fit import Strengths
from parlai_humaneval.statistics.ranking.order import best_of_means, best_set
from parlai_humaneval.statistics.ranking.plackett_luce import comparison_strengths, plackett_luce, turn_strengths
from parlai_humaneval.statistics.ranking.trueskill import trueskill
from parlai_humaneval.statistics.raters.agreement import cohen_kappa, fleiss_kappa, krippendorff_alpha
from parlai_humaneval.statistics.raters.time import time_spent, time_to_significance
from parlai_humaneval.statistics.ratings.likert import likert_groups, ols, rated_pairs
from parlai_humaneval.statistics.ratings.sliders import standardised, system_scores, worker_checks
from parlai_humaneval.statistics.survival.curve import cloglog_cox, survival_curve
from parlai_humaneval.statistics.survival.tests import survival_score_test, zhao_sun_test
from parlai_humaneval.stopping.replay import replay_sequential
from parlai_humaneval.stopping.rule import StoppingRule
from parlai_humaneval.tables.build import Tables, tables
from parlai_humaneval.tables.choices import choice_groups
from parlai_humaneval.tables.columns import TableError
from parlai_humaneval.tables.files import read_tables, write_tables
from parlai_humaneval.tables.schema import COLUMNS

__all__ = [
    "COLUMNS",
    "Document",
    "Plan",
    "PlanInputs",
    "Result",
    "StoppingRule",
    "Strengths",
    "TableError",
    "Tables",
    "anytime_p_values",
    "best_of_means",
    "best_set",
    "binomial_test",
    "bradley_terry",
    "build_report",
    "choice_groups",
    "cloglog_cox",
    "cluster_sums",
    "clustered_difference",
    "clustered_mean",
    "clustered_share",
    "cochran_q_size",
    "cochran_q_test",
    "cohen_kappa",
    "compare_choices",
    "compare_singles",
    "compare_techniques",
    "comparison_strengths",
    "correlation",
    "design_effect",
    "effective_win_test",
    "equality_evidence",
    "fleiss_kappa",
    "goodness_of_fit_size",
    "goodness_of_fit_test",
    "holm",
    "intraclass_correlation",
    "krippendorff_alpha",
    "likert_groups",
    "linear_win_rate",
    "mcnemar_size",
    "mcnemar_test",
    "ols",
    "one_proportion_size",
    "order_evidence",
    "orient_pairs",
    "pilot_of",
    "plackett_luce",
    "plan_study",
    "plan_until_decided",
    "prediction_powered",
    "print_document",
    "print_report_summary",
    "rank_sum_test",
    "rated_pairs",
    "read_tables",
    "register_statistic",
    "replay_sequential",
    "share_interval",
    "sign_flip_p_value",
    "simulated_power",
    "squared_win_rate",
    "standardised",
    "survival_curve",
    "survival_score_test",
    "system_scores",
    "t_test",
    "tables",
    "time_spent",
    "time_to_significance",
    "trueskill",
    "turn_strengths",
    "two_proportions_size",
    "wilson_interval",
    "winner_takes_all",
    "wins_of_pairs",
    "worker_checks",
    "write_document",
    "write_tables",
    "zhao_sun_test",
]

def register_statistic(name: str, module: str) -> None: ...
