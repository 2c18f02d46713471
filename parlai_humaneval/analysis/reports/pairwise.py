"""The report of a PW-Turn task: tables in, every number by name out, and its print on a terminal."""

from parlai_humaneval.analysis.reports.pw_turn.build import build_report as pairwise_report
from parlai_humaneval.analysis.reports.pw_turn.types import PairReport, PairwiseReport
from parlai_humaneval.analysis.reports.study import render

__all__ = ["PairReport", "PairwiseReport", "pairwise_report", "render"]
