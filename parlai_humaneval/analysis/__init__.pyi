"""The public names, each from its module; the module beside this file loads them on use."""

from .choice_tests import cochran_q_test, goodness_of_fit_test, mcnemar_test
from .clustered import (
    ClusterSums,
    cluster_bootstrap,
    cluster_sums,
    clustered_share,
    sign_flip_p,
)
from .columns import COLUMNS, TableError
from .correction import holm
from .frames import Tables, tables
from .means import clustered_difference, clustered_mean, t_test
from .pairwise_report import PairwiseReport
from .proportions import binomial_p, binomial_test, wald_interval, wilson_interval
from .reports.study import render, study_report
from .reports.types import Report
from .result import Result, results_table
from .skill import Skill, trueskill
from .slider_scores import standardised, worker_checks
from .table_files import read_tables, write_tables
from .win_rates import count_dialogues, lin, lin_pooled, sqr, wta

__all__ = [
    "COLUMNS",
    "ClusterSums",
    "PairwiseReport",
    "Report",
    "Result",
    "Skill",
    "TableError",
    "Tables",
    "binomial_p",
    "binomial_test",
    "cluster_bootstrap",
    "cluster_sums",
    "clustered_difference",
    "clustered_mean",
    "clustered_share",
    "cochran_q_test",
    "count_dialogues",
    "goodness_of_fit_test",
    "holm",
    "lin",
    "lin_pooled",
    "mcnemar_test",
    "read_tables",
    "render",
    "results_table",
    "sign_flip_p",
    "sqr",
    "standardised",
    "study_report",
    "t_test",
    "tables",
    "trueskill",
    "wald_interval",
    "wilson_interval",
    "worker_checks",
    "write_tables",
    "wta",
]
