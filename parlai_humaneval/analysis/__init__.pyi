"""The public names, each from its module; the module beside this file loads them on use."""

from .choice_tests import cochran_q_test, goodness_of_fit_test, mcnemar_test
from .clustered import ClusterSums, cluster_bootstrap, cluster_sums, clustered_share, sign_flip_p
from .columns import COLUMNS, TableError
from .correction import holm
from .effective_wins import effective_win_test
from .frames import Tables, tables
from .means import clustered_difference, clustered_mean, t_test
from .pairwise_report import PairwiseReport
from .proportions import binomial_p, binomial_test, success_rate, wald_interval, wilson_interval
from .reports.study import render, study_report
from .reports.types import Report
from .result import Result, results_table
from .skill import Skill, trueskill
from .slider_scores import standardised, worker_checks
from .table_files import read_tables, write_tables
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
from .win_rates import combo, count_dialogues, effective_win_rate, lin, lin_pooled, sm_combo, sm_wta, sqr, wta

__all__ = [
    "COLUMNS",
    "ChoiceGroup",
    "ClusterSums",
    "FirstChoice",
    "LeftOut",
    "PairwiseReport",
    "Report",
    "Reselection",
    "Result",
    "Skill",
    "TableError",
    "Tables",
    "TurnTest",
    "binomial_p",
    "binomial_test",
    "choice_groups",
    "cluster_bootstrap",
    "cluster_sums",
    "clustered_difference",
    "clustered_mean",
    "clustered_share",
    "cochran_q_test",
    "combo",
    "compare_choices",
    "compare_singles",
    "compare_with_baseline",
    "count_dialogues",
    "effective_win_rate",
    "effective_win_test",
    "equal_rates_test",
    "first_choice",
    "first_place",
    "goodness_of_fit_test",
    "holm",
    "leave_one_out",
    "lin",
    "lin_pooled",
    "mcnemar_test",
    "read_tables",
    "render",
    "reselection",
    "results_table",
    "sign_flip_p",
    "sm_combo",
    "sm_wta",
    "sqr",
    "standardised",
    "study_report",
    "success_rate",
    "t_test",
    "tables",
    "trueskill",
    "wald_interval",
    "wilson_interval",
    "with_holm",
    "worker_checks",
    "write_tables",
    "wta",
]
