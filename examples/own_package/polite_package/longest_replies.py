"""A statistic in the report: what a row of it says, and where the rows come from."""

from typing import Annotated

from parlai_humaneval.analysis import Result, Tables
from parlai_humaneval.report.analysis import analysis
from parlai_humaneval.report.section import Options
from parlai_humaneval.statistics.core.rows import Estimate, Name, Row
from polite_package.longest_reply import longest_reply


class LongestReply(Row):
    """The longest reply of a model."""

    model: Name
    longest: Annotated[Result, Estimate("Characters", "count", name="characters")]


@analysis(
    "longest_replies", title="Longest replies", needs=["turns.text"], how="The maximum.", source="Nobody 2020, §2"
)
def longest_replies(tables: Tables, options: Options) -> list[LongestReply]:
    """A row a model."""
    replies = tables.turns.dropna(subset=["text"])
    return [
        LongestReply(model=str(model), longest=longest_reply(list(of_model["text"])))
        for model, of_model in replies.groupby("model")
    ]
