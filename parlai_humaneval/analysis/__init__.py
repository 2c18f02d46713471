"""What the answers mean: statistics on tidy tables, without a database, ParlAI or Mephisto.

``tables`` (records → tables) · ``read_tables``, ``write_tables`` (files) · ``study_report``, ``render`` (any live
technique) · the estimates and tests they are made of. Every test returns a :class:`Result`.
"""

from parlai_humaneval.analysis.choice_tests import cochran_q_test, goodness_of_fit_test, mcnemar_test
from parlai_humaneval.analysis.clustered import (
    ClusterSums,
    cluster_bootstrap,
    cluster_sums,
    clustered_share,
    sign_flip_p,
)
from parlai_humaneval.analysis.columns import COLUMNS, TableError
from parlai_humaneval.analysis.correction import holm
from parlai_humaneval.analysis.frames import Tables, tables
from parlai_humaneval.analysis.means import clustered_difference, clustered_mean, t_test
from parlai_humaneval.analysis.pairwise_report import PairwiseReport
from parlai_humaneval.analysis.proportions import binomial_p, binomial_test, wald_interval, wilson_interval
from parlai_humaneval.analysis.reports.study import render, study_report
from parlai_humaneval.analysis.reports.types import Report
from parlai_humaneval.analysis.result import Result, results_table
from parlai_humaneval.analysis.skill import Skill, trueskill
from parlai_humaneval.analysis.slider_scores import standardised, worker_checks
from parlai_humaneval.analysis.table_files import read_tables, write_tables
from parlai_humaneval.analysis.win_rates import count_dialogues, lin, lin_pooled, sqr, wta

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
