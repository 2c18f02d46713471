"""Section ``rankings``: all replies of a turn ranked by a third party (Ma et al. 2023, preference ranking)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
import pandas as pd

from parlai_humaneval.report import conclusions
from parlai_humaneval.report.section import ModelLine, Options, Section, Summary, sentence
from parlai_humaneval.report.views import DataTable, Figure, Method, interval_figures, look, method, shown, table
from parlai_humaneval.statistics.core.means import crossed_mean
from parlai_humaneval.statistics.core.multiplicity import Family
from parlai_humaneval.statistics.core.ranks import kendall_tau_b, tau_b_of_pairs
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.rows import AskedRow, Column, Count, Estimate, Key, Name
from parlai_humaneval.statistics.core.two_way import crossed_share
from parlai_humaneval.statistics.preference.pairs import orient_pairs, wins_of_pairs
from parlai_humaneval.statistics.ranking.order import ModelOrder
from parlai_humaneval.tables.build import Tables
from parlai_humaneval.tables.filters import finished, nobody_won

QUESTION = "better place"
_GROUP = ["technique", "setting", "metric"]


class RankedRow(AskedRow):
    """Rankings of one technique, setting and metric; "" where there is none."""

    @property
    def group(self) -> Family:
        return Family(self.technique, self.setting, self.metric, QUESTION)

    @property
    def where(self) -> str:
        return ", ".join(filter(None, (self.technique, self.setting, self.metric)))


class RankedModel(RankedRow):
    """A model's places, 1 the best, clustered by rater and dialogue. ``best``: share of rankings in which no reply
    stood above it; ``own_picked``: share of the same turns in which the dialogue's own rater chose it."""

    model: Name
    n: Annotated[int, Column("Rankings")]
    mean_rank: Annotated[Result, Estimate("Mean place")]
    best: Annotated[Result, Estimate("Best", "share")]
    own_picked: Annotated[float | None, Column("Picked by the own rater", "share")]


class RankedPair(conclusions.WonPair, RankedRow):
    """Two models, and which was ranked better; equal ranks are a tie."""

    n_workers: int


class Ranking(RankedRow):
    """All rankings of a group. ``tau``: mean over rankings of Kendall's τ-b with the own rater's picks, clustered by
    worker and dialogue; ``tau_of_models``: of the models' mean places with how often they were picked."""

    n_rankings: Annotated[int, Column("Rankings")]
    n_turns: Count
    n_workers: Count
    tau: Annotated[Result, Estimate("Kendall's τ-b"), Key(name="n_tau", path="n")]
    tau_of_models: Annotated[float | None, Column("τ-b over models")]


class Rankings(Section):
    """The ranking if all replies to the same message are ranked at once; models of a group run from best to worst."""

    TITLE: ClassVar[str] = "Rankings of the replies of a turn"

    rankings: list[Ranking]
    models: list[RankedModel]
    pairs: list[RankedPair]

    def of_group(self, ranking: Ranking) -> tuple[list[RankedModel], list[RankedPair]]:
        """Its models and pairs."""
        models = [row for row in self.models if row.group == ranking.group]
        return models, [row for row in self.pairs if row.group == ranking.group]

    def summary(self) -> list[Summary]:
        summaries = []
        for ranking in self.rankings:
            models, pairs = self.of_group(ranking)
            lines, order = [pair.line() for pair in pairs], _order(models, pairs)
            best = None if order is None else conclusions.best_of_pairs(dict.fromkeys(order.names), lines, order)
            summaries.append(
                Summary(
                    section="rankings",
                    **ranking.group._asdict(),
                    what="mean rank, 1 is the best",
                    verdict=_answer(ranking, models, pairs),
                    models=[ModelLine.of(row.model, row.mean_rank, "rankings", share=False) for row in models],
                    pairs=lines,
                    model_table="rankings_models",
                    pair_table="rankings_pairs" if pairs else "",
                    remarks=[*_remarks(pairs), *(() if order is None else order.reasons())],
                    best=best,
                )
            )
        return summaries

    def data_tables(self) -> list[DataTable]:
        cited = conclusions.to_cite([pair.line() for pair in self.pairs], self.of_decided)
        pairs = table("rankings_pairs", self.pairs, *cited)
        return shown(table("rankings_models", self.models), pairs, table("rankings_tau", self.rankings))

    def figures(self) -> list[Figure]:
        return [
            figure
            for place, ranking in enumerate(self.rankings, start=1)
            for figure in interval_figures(
                **look("rankings_places", f"_{place}", where=ranking.where),
                results=[(row.model, row.mean_rank) for row in self.of_group(ranking)[0]],
            )
        ]

    def methods(self) -> list[Method]:
        rates = [pair.win_rate for pair in self.pairs]
        return [
            conclusions.BY_WORKER,
            method("rankings", "places"),
            method("rankings", "kendalls_b"),
            *conclusions.reuse_methods(rates),
            *conclusions.holm_methods(rates),
        ]


def build(tables: Tables, options: Options) -> Rankings | None:
    """The section about all turns whose replies a third party ranked; None if there are none."""
    turns, pairs = (
        frame[finished(frame)].assign(**{name: frame[name].fillna("") for name in _GROUP})
        for frame in (tables.turns, tables.comparisons)
    )
    turns = turns[turns["rank"].notna().to_numpy(dtype=bool)]
    pairs = pairs[pairs["rank_a"].notna().to_numpy(dtype=bool)]
    if turns.empty:
        return None
    section = Rankings(rankings=[], models=[], pairs=[])
    for key, rows in turns.groupby(_GROUP, sort=True):
        group = dict(zip(_GROUP, map(str, key), strict=True))
        of_group = np.logical_and.reduce([pairs[name].eq(value).to_numpy(dtype=bool) for name, value in group.items()])
        compared = orient_pairs(pairs[of_group])
        family = RankedRow(**group).group
        wins = wins_of_pairs(compared, family=family, level=options.level, seed=options.seed)
        models, of_models = _models(rows, group, options.level), [RankedPair.of(pair, group) for pair in wins]
        order = _order(models, of_models)
        if order is not None and len(order.groups) > 1:
            models = [row for name in order.names for row in models if row.model == name]
        section.models += models
        section.pairs += of_models
        picked = [row for row in models if row.own_picked is not None]
        places, shares = [-(row.mean_rank.estimate or 0.0) for row in picked], [row.own_picked or 0.0 for row in picked]
        section.rankings.append(
            Ranking(
                **group,
                n_rankings=len(rows.drop_duplicates(["dialogue_id", "worker_id", "turn"])),
                n_turns=len(rows.drop_duplicates(["dialogue_id", "turn"])),
                n_workers=int(rows["worker_id"].nunique()),
                tau=_tau(compared, options.level),
                tau_of_models=kendall_tau_b(places, shares),
            )
        )
    section.headline = " ".join(_answer(ranking, *section.of_group(ranking)) for ranking in section.rankings)
    section.remarks = [remark for ranking in section.rankings for remark in _remarks(section.of_group(ranking)[1])]
    return section


def _models(rows: pd.DataFrame, group: dict[str, str], level: float) -> list[RankedModel]:
    last = int(rows["rank"].max())
    models = []
    for model, ranked in rows.groupby("model", sort=True):
        workers, dialogues = (ranked[column].to_numpy(dtype=object) for column in ("worker_id", "dialogue_id"))
        first = ranked["selected"].to_numpy(dtype=float)
        ones, best_name = np.ones_like(first), f"{model} ranked best"
        best = crossed_share(first, ones, workers, [dialogues], name=best_name, level=level)
        places, name = ranked["rank"].to_numpy(dtype=float), f"mean rank of {model}"
        picked = ranked["own_selected"].dropna()
        models.append(
            RankedModel(
                **group,
                model=str(model),
                n=len(ranked),
                mean_rank=crossed_mean(places, workers, dialogues, name=name, limits=(1, last), level=level),
                best=best.but(p_value=None, statistic=None),
                own_picked=float(picked.mean()) if len(picked) else None,
            )
        )
    return sorted(models, key=lambda row: row.mean_rank.estimate or 0.0)


def _tau(compared: pd.DataFrame, level: float) -> Result:
    """Over rankings of turns in which the own rater was asked and picked some of the replies, but not all."""
    asked = compared[compared["own_winner"].notna().to_numpy(dtype=bool)]
    picked = (asked["own_winner"] == asked["model_a"]).to_numpy(dtype=float)
    picked = (picked - (asked["own_winner"] == asked["model_b"]).to_numpy(dtype=float)) * ~nobody_won(asked, "own_")
    one_ranking = ["item_id", "turn", "worker_id"]
    ranked = asked.groupby(one_ranking, sort=False, dropna=False).ngroup()
    rankings = asked.drop_duplicates(one_ranking)
    workers, dialogues = (rankings[column].to_numpy(dtype=object) for column in ("worker_id", "dialogue_a"))
    tau = tau_b_of_pairs(asked["outcome"].to_numpy(dtype=float), picked, ranked)
    name = "Kendall's τ-b with the own rater's picks"
    return crossed_mean(tau, workers, dialogues, name=name, limits=(-1, 1), level=level)


def _order(models: Sequence[RankedModel], pairs: Sequence[RankedPair]) -> ModelOrder | None:
    """Order models by mean rank; if they were not all ranked together and wins do not link them, by whom they beat."""
    places = ((row.model, row.mean_rank.estimate) for row in models)
    return conclusions.order_of_pairs({model: None if place is None else -place for model, place in places}, pairs)


def _answer(ranking: Ranking, models: Sequence[RankedModel], pairs: Sequence[RankedPair]) -> str:
    tested = [pair for pair in pairs if pair.differs is not None]
    clusters = conclusions.clusters_words(tested[0].win_rate if tested else None, ranking.n_workers)
    apart = conclusions.apart_words([pair.line() for pair in tested], "models")
    facts = {"models": models, "tested": tested, "apart": apart}
    return sentence("rankings", "answer", ranking=ranking, where=ranking.where, clusters=clusters, **facts)


def _remarks(pairs: Sequence[RankedPair]) -> list[str]:
    told = [conclusions.results_disagree(f"{pair.names()}, places", pair.paper, pair.win_rate) for pair in pairs]
    notes = sorted({f"{note[:1].upper()}{note[1:]}." for pair in pairs for note in pair.win_rate.notes})
    return [*filter(None, told), *conclusions.counted_once(pair.told for pair in pairs), *notes]
