"""The beginning of a report: the leading summaries, the overall verdict, small tables and one figure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from parlai_humaneval._util.text import on_one_line
from parlai_humaneval.report import views
from parlai_humaneval.report.conclusions import DECIDED, ahead_of_all, once_more, rank_words, to_cite, winner_words
from parlai_humaneval.report.section import ModelLine, PairLine, Section, Summary, say, sentence
from parlai_humaneval.statistics.core.formatting import counted, format_p, percent
from parlai_humaneval.tables.filters import RaterKinds
from parlai_humaneval.techniques.registry import techniques, with_trait

NAMED = 3
"""As many pairs are named by a verdict over several answers."""
POINTS_OF_FIGURE = 24
"""As many models or pairs are drawn in the one figure at the head of a report."""
LONGEST_QUESTION = 80
"""Letters of a question that is all that tells an answer apart from others."""
ENDS = (("low", "from"), ("high", "to"))
GAPS = "How far the first is ahead of the second"
SUPERIORITY = "Probability of superiority across techniques"
SUPERIORITY_METHOD = views.method("summary", "probability_of_superiority")
_SAME_ANSWERS: Mapping[str, tuple[str, ...]] = {
    "turns": ("free_for_all",),
    "comparisons": ("free_for_all", "turns"),
    "likert": ("direct_assessment",),
}
"""Section → sections that say the same of the same answers, and say it first."""
_SAME_AS_DECIDED = frozenset({"turns", "free_for_all", "comparisons"})
"""Sections that say, of a study that stops once it reaches a decision, what was decided, by tests of one look."""
_SAME_ANSWERS_IN_PAIRS: Mapping[str, tuple[str, ...]] = {"turns": ("comparisons",)}
_HOW: Mapping[str, str] = {
    "turns": "as shares of turns in which a reply was chosen",
    "comparisons": "but only those that favour one model of a pair, with ties left out",
    "likert": "as means of ratings as they were given",
}


def leading(summaries: Sequence[Summary]) -> list[Summary]:
    """One answer to each question: where two sections answer from the same data, that of the technique's paper.

    A section keeps its summaries of a technique, setting and metric unless another one that says the same has them too.
    Where a study stopped once it reached a decision, its claims are the answer.
    """
    present: dict[tuple[str, str, str], set[str]] = {}
    for summary in summaries:
        present.setdefault(summary.design, set()).add(summary.section)
    of_ratings = {summary.design[:2] for summary in summaries if summary.decides_all}
    return [
        summary
        for summary in summaries
        if not present[summary.design].intersection(_said_first(summary))
        and not (summary.design[:2] in of_ratings and not summary.decides_all)
        and not (DECIDED in present[summary.design] and summary.section in _SAME_AS_DECIDED)
    ]


def with_what_leads(sections: Mapping[str, Section]) -> dict[str, Section]:
    """The sections; the headline of one that says once more what another says names that one, and why they may differ."""
    summaries = {key: section.summary() for key, section in sections.items()}
    present: dict[tuple[str, str, str], list[str]] = {}
    for key, answers in summaries.items():
        for answer in answers:
            present.setdefault(answer.design, []).append(key)
    told = {}
    for key, section in sections.items():
        first = {
            (one, DECIDED in present[answer.design])
            for answer in summaries[key]
            for one in _said_first(answer)
            if one in present[answer.design]
        }
        words = [once_more(sections[one].heading(), _HOW[key], decided=ends) for one, ends in sorted(first)]
        words = list(dict.fromkeys(words))
        told[key] = section.model_copy(update={"headline": " ".join([section.headline, *words])}) if words else section
    return told


def _said_first(summary: Summary) -> tuple[str, ...]:
    same = _SAME_ANSWERS_IN_PAIRS if summary.technique in with_trait("pairs") else _SAME_ANSWERS
    return same.get(summary.section, ())


def verdict_of(answers: Sequence[Summary]) -> str:
    """The answer in one sentence: of one question its own, of several how many of their comparisons show a difference."""
    if len(answers) == 1:
        return answers[0].verdict
    tested = [pair for answer in answers for pair in answer.pairs if pair.differs is not None]
    facts = {"answers": len(answers), "tested": len(tested), "apart": sum(bool(pair.differs) for pair in tested)}
    ahead = [told for answer in answers for told in _ahead(answer)]
    return sentence("summary", "verdict", ahead=ahead, named=NAMED, **facts)


def _ahead(answer: Summary) -> Iterator[tuple[str, int]]:
    """Sentences that name the better model, each with its number of pairs: first a model ahead of all, then pairs."""
    winner = ahead_of_all(answer.pairs)
    won = [pair.p_decides for pair in answer.pairs if pair.first == winner and pair.p_decides is not None]
    if winner:
        how = f", largest {format_p(max(won))}" if won else ""  # what was decided has no p
        number = sum(pair.first == winner and bool(pair.differs) for pair in answer.pairs)
        yield f"{winner_words(answer.pairs)} ({name_of(answer)}{how})", number
    for pair in answer.pairs:
        if pair.differs and pair.first != winner:
            yield f"{pair.first} is ahead of {pair.second} ({name_of(answer)}, {format_p(pair.p_decides)})", 1


def name_of(answer: Summary) -> str:
    """“sata, soba, preference”: of what the answer is; with the question's own name where it has another, cut if long."""
    known = answer.question in (answer.metric, answer.technique) or (answer.metric and len(answer.question) > 30)
    question = "" if known else on_one_line(answer.question, LONGEST_QUESTION)
    return ", ".join(filter(None, (answer.technique, answer.setting, answer.metric, question)))


def heading_of(answer: Summary) -> str:
    """“SATA, soba, preference”: the same for readers, who know a technique by its title in the papers."""
    return title_of(answer.technique) + name_of(answer).removeprefix(answer.technique)


def title_of(technique: str) -> str:
    """The title of a technique in its paper; of one that is not known here, its name."""
    known = techniques()
    return known[technique].title if technique in known else technique


def models_table(answer: Summary) -> views.DataTable:
    """The models, best first as the section gives them, with intervals."""
    units = {line.unit for line in answer.models}
    shares = _shares(answer.models)
    kind: views.CellKind = "share" if shares else "number"
    labels: dict[str, str | tuple[str, views.CellKind]] = {
        "rank": "Rank",
        "model": "Model",
        "estimate": ("Share" if shares else "Value", kind),
        "low": ("95 % from", kind),
        "high": ("95 % to", kind),
        "n": ((units.pop() if len(units) == 1 else "n").capitalize(), "count"),
    }
    rows = [
        {**line.model_dump(), "rank": "" if line.rank_low is None else rank_words(line.rank_low, line.rank_high)}
        for line in answer.models
    ]
    rates = [line.estimate for line in answer.models if line.estimate is not None]
    by_strength = answer.section == "comparisons" and rates != sorted(rates, reverse=True)
    title = (
        _title(answer.what) + ", in the order of strength, which depends on the opponents that each met" * by_strength
    )
    return _of_rows("answer_models", title, labels, rows)


def _of_rows(
    key: str,
    title: str,
    labels: Mapping[str, str | tuple[str, views.CellKind]],
    rows: Sequence[Mapping[str, views.Cell]],
    notes: Sequence[str] = (),
) -> views.DataTable:
    """Without columns that have no value in any row."""
    filled = {name: label for name, label in labels.items() if any(row[name] not in (None, "") for row in rows)}
    return views.plain_table(key, title, filled, [{name: row[name] for name in labels} for row in rows], notes)


def answer_tables(answers: Sequence[Summary]) -> Iterator[views.DataTable]:
    """The models and pairs of each answer, for files; of several answers numbered, and with the question in the title."""
    for place, answer in enumerate(answers, start=1):
        for table in (models_table(answer), pairs_table(answer)):
            if table.rows and len(answers) > 1:
                words = {"key": f"{table.key}_{place}", "title": f"{table.title}: {heading_of(answer)}"}
                yield table.model_copy(update=words)
            elif table.rows:
                yield table


def leaders_table(answers: Sequence[Summary]) -> views.DataTable:
    """For each answer the leader, the models tied with it, and the others; for files, as verdicts say it in words."""
    rows = [
        {
            **{name: getattr(answer, name) for name in ("technique", "setting", "metric", "question", "section")},
            "leader": answer.best.leader,
            "by": answer.best.by,
            **{name: ", ".join(getattr(answer.best, name)) for name in ("together", "told", "untested")},
            "unordered": "; ".join(map(", ".join, answer.best.unordered)),
        }
        for answer in answers
        if answer.best is not None
    ]
    return views.listed_table("leaders", rows)


def pairs_table(answer: Summary) -> views.DataTable:
    """The pairs: the gap, the p-value of the paper's test, the one by worker, and that one corrected where it was."""
    shares = _shares(answer.pairs)
    kind: views.CellKind = "points" if shares else "number"
    corrected = any(pair.family_tests > 1 for pair in answer.pairs)
    decides = corrected or any(pair.decided_by == "paper" for pair in answer.pairs)
    by_both = any(pair.by_dialogue for pair in answer.pairs)
    level = percent(answer.level)
    paper = "p, independent" if any(pair.independent for pair in answer.pairs) else "p, paper"
    labels: dict[str, str | tuple[str, views.CellKind]] = {
        "pair": "Pair",
        "gap": ("Points" if shares else "Gap", kind),
        "low": (f"{level} from", kind),
        "high": (f"{level} to", kind),
        "p_paper": (paper, "p"),
        "p_clustered": ("p, clustered" if by_both else "p, by rater", "p"),
        **({"p_decides": ("Holm" if corrected else "p, larger", "p")} if decides else {}),
        "superiority": ("Superiority", "share"),
        "superiority_low": ("from, superiority", "share"),
        "superiority_high": ("to, superiority", "share"),
    }
    # Only direct meetings count, so a gap that involves other models has no effect size; no p where none decides.
    unmet = dict.fromkeys(("superiority", "superiority_low", "superiority_high"))
    untested = {"p_paper": None}
    rows: list[dict[str, views.Cell]] = [
        {
            **pair.model_dump(),
            "pair": f"{pair.first} over {pair.second}",
            **(unmet if pair.modelled else {}),
            **(untested if pair.p_decides is None else {}),
        }
        for pair in answer.pairs
    ]
    cited = labels.get("p_decides", labels["p_clustered"])[0]
    families = dict.fromkeys((pair.family, pair.family_tests) for pair in answer.pairs if pair.family_tests > 1)
    notes = [
        *(to_cite(answer.pairs, "all") if answer.of_decided else ()),
        *say("summary", "of_pairs", answer=answer, cited=cited, families=families),
    ]
    return _of_rows("answer_pairs", GAPS, labels, rows, notes)


def superiority_table(answers: Sequence[Summary]) -> views.DataTable:
    """A row for each two models that met in several answers, and a column for each of these; no rows otherwise.

    Only where the answers are of several techniques or settings. The model named first is the one that is ahead in the
    first answer that has the pair.
    """
    met: dict[frozenset[str], dict[int, PairLine]] = {}
    for place, answer in enumerate(answers):
        for pair in answer.pairs:
            if pair.superiority is not None:
                met.setdefault(frozenset((pair.first, pair.second)), {})[place] = pair
    several = [lines for lines in met.values() if len({_parts(answers[place])[:2] for place in lines}) > 1]
    places = sorted({place for lines in several for place in lines})
    names = _short_names([answers[place] for place in places])
    plain = [re.sub(r"\W+", "_", name).strip("_").lower() or "answer" for name in names]
    numbered = enumerate(plain, start=1)
    unique = [f"{key}_{number}" if plain.count(key) > 1 else key for number, key in numbered]
    keys = dict(zip(places, unique, strict=True))
    labels = dict(zip(places, names, strict=True))
    columns: dict[str, str | tuple[str, views.CellKind]] = {"first": "Model", "second": "against"}
    for place, key in keys.items():
        columns[key] = (labels[place], "share")
        columns |= {f"{key}_{end}": (f"{word}, {labels[place]}", "share") for end, word in ENDS}
    modelled = [labels[place] for place in places if any(pair.modelled for pair in answers[place].pairs)]
    notes = say("summary", "superiority", modelled=modelled)
    rows: list[dict[str, views.Cell]] = []
    for lines in several:
        first = lines[min(lines)]
        rows.append({"first": first.first, "second": first.second})
        for place, line in lines.items():
            parts = (keys[place], f"{keys[place]}_low", f"{keys[place]}_high")
            rows[-1] |= dict(zip(parts, line.superiority_of(first.first), strict=True))
    return views.plain_table("superiority", SUPERIORITY, columns, rows, notes)


def _parts(answer: Summary) -> tuple[str, str, str, str]:
    return answer.technique, answer.setting, answer.metric, answer.question


def _short_names(answers: Sequence[Summary]) -> list[str]:
    """“sata”; with setting, metric and question as far as they tell the answers apart."""
    for size in range(1, 4):
        names = [", ".join(filter(None, _parts(answer)[:size])) for answer in answers]
        if len(set(names)) == len(names) and all(names):
            return names
    return [name_of(answer) for answer in answers]


def figure_of(answers: Sequence[Summary]) -> views.IntervalFigure | None:
    """One figure of all models, or of all pairs where models have no value of their own.

    Only answers on the scale of the first are drawn.
    """
    if not answers:
        return None
    first = answers[0]
    alike = [answer for answer in answers if answer.what == first.what]
    of_models = any(line.estimate is not None for line in first.models)
    # What counts as equal, where all answers have the same margin.
    margins = {None if answer.rule is None else answer.rule.margin for answer in alike}
    margin = margins.pop() if len(margins) == 1 else None
    points: list[views.IntervalPoint] = []
    for answer, name in zip(alike, _names_apart(alike), strict=True):
        values = [(line.model, line.estimate, line.low, line.high) for line in answer.models]
        if not of_models:
            values = [(f"{pair.first} over {pair.second}", pair.gap, pair.low, pair.high) for pair in answer.pairs]
        for told, estimate, low, high in values:
            label = f"{told} ({name})" if name else told
            if estimate is not None:
                points.append(views.IntervalPoint(label=label, estimate=estimate, low=low, high=high))
    if not points:
        return None
    more = f" (the first {POINTS_OF_FIGURE} of {len(points)})" if len(points) > POINTS_OF_FIGURE else ""
    return views.IntervalFigure(
        key="answer",
        title=f"{_title(first.what) if of_models else GAPS}{more}",
        x_label=first.what if of_models else views.points_label(margin) if _shares(first.pairs) else "difference",
        points=tuple(points[:POINTS_OF_FIGURE]),
        reference=first.reference if of_models else 0.0,
        band=None if of_models or margin is None else (-margin, margin),
        share=_shares(first.models) if of_models else _shares(first.pairs),
        in_points=not of_models and _shares(first.pairs),
        labels_above=True,
    )


def _names_apart(answers: Sequence[Summary]) -> list[str]:
    """For each answer, only the parts that differ between answers: “sata_user”; empty if there is one answer."""
    parts = list(map(_parts, answers))
    differing = [place for place, values in enumerate(zip(*parts, strict=True)) if len(set(values)) > 1]
    short = [", ".join(filter(None, (names[place] for place in differing[:3]))) for names in parts]
    return short if len(set(short)) == len(answers) else [name_of(answer) for answer in answers]


def sentence_of(
    verdict: str, answers: Sequence[Summary], raters: RaterKinds, made_by: str, registered: Sequence[str] = ()
) -> str:
    """The verdict as it can be in a paper: with what was asked, of how many, and by what it was computed. ``registered``:
    what is to be said of its preregistration."""
    kind, workers = raters.evaluation.capitalize(), counted(raters.workers, "rater")
    who = f" by {counted(raters.workers, 'program') if raters.kind == 'programs' else f'{workers} ({raters.kind})'}"
    techniques = ", ".join(dict.fromkeys(answer.technique for answer in answers if answer.technique))
    how = [f"{kind}{f' with {techniques}' if techniques else ''}{who if raters.kind else f', {workers}'}"]
    decided, others = ([answer for answer in answers if bool(answer.paper) is has] for has in (True, False))
    if decided:
        verdict = " ".join([*(answer.paper for answer in decided), *([verdict_of(others)] if others else [])])
    if not decided or others:
        how.append(f"{'other ' if decided else ''}intervals clustered by rater")
    return " ".join(filter(None, (raters.note, verdict, *registered, f"({'; '.join((*how, made_by))}.)")))


def _shares(lines: Sequence[ModelLine] | Sequence[PairLine]) -> bool:
    return bool(lines) and all(line.share for line in lines)


def _title(what: str) -> str:
    return what[:1].upper() + what[1:]
