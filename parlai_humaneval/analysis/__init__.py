"""What the answers mean: statistics on tidy tables, without a database, ParlAI or Mephisto.

``tables`` (records → tables) · ``read_tables``, ``write_tables`` (files) · ``pairwise_report``, ``render`` (PW-Turn) ·
the estimates and tests they are made of. Every test returns a :class:`Result`.
"""

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
from parlai_humaneval.analysis.pairwise_report import PairwiseReport, render
from parlai_humaneval.analysis.proportions import binomial_p, binomial_test, wald_interval, wilson_interval
from parlai_humaneval.analysis.result import Result, results_table
from parlai_humaneval.analysis.table_files import read_tables, write_tables
from parlai_humaneval.analysis.win_rates import count_dialogues, lin, lin_pooled, sqr, wta

__all__ = [
    "COLUMNS",
    "ClusterSums",
    "PairwiseReport",
    "Result",
    "TableError",
    "Tables",
    "binomial_p",
    "binomial_test",
    "cluster_bootstrap",
    "cluster_sums",
    "clustered_share",
    "count_dialogues",
    "holm",
    "lin",
    "lin_pooled",
    "read_tables",
    "render",
    "results_table",
    "sign_flip_p",
    "sqr",
    "tables",
    "wald_interval",
    "wilson_interval",
    "write_tables",
    "wta",
]
