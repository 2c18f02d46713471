"""A section of the report."""

from parlai_humaneval.analysis import Tables
from parlai_humaneval.report.section import Options, Section
from parlai_humaneval.report.views import DataTable, Method, TableColumn
from polite_package.longest_reply import longest_reply


class LongestReplies(Section):
    """The longest reply of each model."""

    TITLE = "Longest replies"
    characters: dict[str, float]

    def data_tables(self) -> list[DataTable]:
        columns = (
            TableColumn(key="model", label="Model"),
            TableColumn(key="characters", label="Characters", kind="count"),
        )
        rows = tuple({"model": model, "characters": value} for model, value in self.characters.items())
        return [DataTable(key="longest_replies_models", title="Longest replies", columns=columns, rows=rows)]

    def figures(self) -> list[object]:
        return []

    def methods(self) -> list[Method]:
        return [Method(name="Longest reply", text="The maximum.", source="Nobody 2020, §2")]


def build(tables: Tables, options: Options) -> Section | None:
    """The section, or None where the tables hold nothing for it."""
    turns = tables.turns
    if not len(turns):
        return None
    longest = {model: longest_reply(list(replies["text"])).estimate for model, replies in turns.groupby("model")}
    return LongestReplies(headline="Some replies are long.", characters=longest)
