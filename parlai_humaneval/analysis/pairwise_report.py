"""The report of a PW-Turn task: tables in, every number by name out, and its print on a terminal."""

from parlai_humaneval.analysis.pairwise_build import pairwise_report
from parlai_humaneval.analysis.pairwise_render import render
from parlai_humaneval.analysis.pairwise_types import PairReport, PairwiseReport

__all__ = ["PairReport", "PairwiseReport", "pairwise_report", "render"]
