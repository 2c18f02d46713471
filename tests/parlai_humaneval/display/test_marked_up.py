"""A reply's markdown becomes a tree without HTML and addresses, whatever a model wrote, and soon enough."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parlai_humaneval.display.appearance import looked_over, shortened_markdown
from parlai_humaneval.display.filtering import ResponseFilter
from parlai_humaneval.display.markdown import LONGEST, is_formatted, markup_of, words_of
from parlai_humaneval.display.presenter import Presenter
from parlai_humaneval.schema.wire import MOST_LEVELS, MOST_PARTS, Markup

SHOWN = Presenter(appearance="markdown")


def short(markup: Markup | None) -> Any:
    """``[["b", "bold"], " word"]``."""
    return [part if isinstance(part, str) else [part["tag"], *short(part["parts"])] for part in markup or []]


def levels(markup: Markup) -> int:
    return max((1 + levels(part["parts"]) for part in markup if not isinstance(part, str)), default=0)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("**a** *b* ~~c~~ `d*e`", [["p", ["b", "a"], " ", ["i", "b"], " ", ["s", "c"], " ", ["code", "d*e"]]]),
        ("# Tea\nHot", [["title", "Tea"], ["p", "Hot"]]),
        ("one\n**two**", [["p", "one", ["br"], ["b", "two"]]]),
        ("- a\n- b\n  1. c", [["ul", ["li", "a"], ["li", "b", ["ol", ["li", "c"]]]]]),
        ("> said\n\n---", [["quote", ["p", "said"]], ["hr"]]),
        ("```py\nx = '<b>'\n```", [["pre", "x = '<b>'"]]),
        ("|a|b|\n|-|-|\n|1|2|", [["table", ["tr", ["th", "a"], ["th", "b"]], ["tr", ["td", "1"], ["td", "2"]]]]),
        ("[tea](https://a.b 'c') and ![a cat](d.png)", [["p", "tea and a cat"]]),
        ("a<br>b **c**", [["p", "a", ["br"], "b ", ["b", "c"]]]),
    ],
)
def test_markdown_becomes_known_parts(text: str, tree: Any) -> None:
    """Guards the look of what today's models write; links have no address, and images are their words."""
    assert short(markup_of(text)) == tree


def test_ordered_list_keeps_its_first_number() -> None:
    """“3. …” after a paragraph goes on with 3."""
    assert markup_of("3. c\n4. d") == [
        {"tag": "ol", "start": 3, "parts": [{"tag": "li", "parts": ["c"]}, {"tag": "li", "parts": ["d"]}]}
    ]


@pytest.mark.parametrize("text", ["Hi!", "2*3*4", "a\nb", "List<String> and a<b", "# of people", "", "> 5 apples"])
def test_words_are_no_markdown(text: str) -> None:
    """Guards words against a parser that takes signs for markup; such a reply is its text."""
    assert markup_of(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "**a** <script>alert(1)</script>",
        "**a** <img src=x onerror=alert(1)>",
        "**a** [b](javascript:alert(1)) ![c](data:text/html;base64,PHNj) <https://d.e>",
        "**a** [b](<data:text/html,x>) [c](vbscript:x)",
        "**a** <a href='javascript:x' onclick=y>b</a>",
    ],
)
def test_html_is_words_and_addresses_are_left_out(text: str) -> None:
    """A tree holds nothing but known parts and text: there is no place for a handler or an address."""
    tree = markup_of(text)
    assert tree is not None
    read = words_of(tree)
    for tag in ("<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<a href='javascript:x' onclick=y>"):
        assert (tag in read) == (tag in text)
    assert "javascript:alert" not in read
    assert "data:" not in read

    def keys(parts: Markup) -> set[str]:
        inner = [part for part in parts if not isinstance(part, str)]
        return {key for part in inner for key in part} | {key for part in inner for key in keys(part["parts"])}

    assert keys(tree) <= {"tag", "parts", "start"}


@pytest.mark.parametrize(
    "formula", ["$a_1*b_2*c$", r"\(x_1^2 * y_2*z\)", r"\[ \frac{a}{b} * c_1 * d_2 \]", "$$\na*b*c_1\n$$"]
)
def test_maths_stays_as_it_was_written(formula: str) -> None:
    """Its signs are no emphasis, and its backslashes no escapes."""
    tree = markup_of(f"**So** {formula}")
    assert tree is not None
    assert words_of(tree) == f"So {formula}"


def test_prices_are_no_maths() -> None:
    """Between two dollar signs stand ordinary words."""
    assert short(markup_of("It costs $5 and *not* $6_")) == [["p", "It costs $5 and ", ["i", "not"], " $6_"]]


@pytest.mark.parametrize("mark", ["\u202e", "\u200f", "\u2066", "&#8238;", "&#x2067;", "&rlm;"])
def test_marks_that_turn_the_page_around_are_not_shown(mark: str) -> None:
    """Also where they are written as entities, which markdown-it reads."""
    text = SHOWN.present(f"**a**{mark} b", []).text
    tree = markup_of(text)
    assert tree is not None
    assert words_of(tree) == "a b"


@pytest.mark.parametrize(
    "text",
    [
        ">" * 2000 + " a", "> " * 2000 + "a", "- " * 2500, "- " * 2500 + "a", "[" * 5000, "![" * 2500, "[a](" * 1250,
        "*a " * 1600, "**a " * 800 + "b** " * 800, "a|b\n-|-\n" * 600, "\n" * 5000 + "**b**", "`" * 5000, "<" * 5000,
        "<!--" * 1200, "$a_" * 1600, "\\[" * 2500, "_*" * 2500, "1. " * 1600, "# a\n" * 1250, "&#8238;" * 700 + "**a**",
        "|a" * 2500 + "|\n" + "|-" * 2500 + "|",
        "\n".join("  " * level + "- a" for level in range(70)), "a" * 10_000 + " **b**",
    ],
)  # fmt: skip
def test_nothing_is_too_deep_or_too_large_for_the_page(text: str) -> None:
    """Guards the server and the page against a model that writes signs without end."""
    tree = markup_of(text[:LONGEST])
    assert tree is None or (levels(tree) <= MOST_LEVELS and len(json.dumps(tree)) < 60 * MOST_PARTS)


def test_time_grows_with_the_length_and_not_faster() -> None:
    """Twice the signs take at most a few times as long, for those that once took seconds: the quickest of three times, as a
    busy machine makes any of them longer."""
    for signs in ("- ", "+ ", "a|b\n-|-\n", "![", "\n"):
        seconds = []
        for length in (3000, 6000):
            text, taken = (signs * length)[:length] + " **a**", []
            for _ in range(3):
                begun = time.process_time()
                markup_of(text)
                taken.append(time.process_time() - begun)
            seconds.append(min(taken))
        assert seconds[1] < 8 * seconds[0] + 0.2, signs


def test_a_long_reply_is_not_read() -> None:
    """What is longer than anything one reads in a chat is shown as it was said."""
    assert markup_of("**a** " * LONGEST) is None


WRITTEN = st.lists(
    st.sampled_from(["a", "b c", "**", "*", "`", "```\n", "\n", "\n\n", "| x ", "|-|-|\n", "- ", "1. ", "> ", "# ",
                     "<br>", "\u202e"])
).map("".join)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(WRITTEN, st.integers(20, 60))
def test_a_cut_leaves_markdown_that_can_be_drawn(text: str, most: int) -> None:
    """No longer than asked for, and no word is lost before the cut."""
    cut = shortened_markdown(text, most)
    assert len(cut) <= most
    tree = markup_of(cut)
    assert tree is None or words_of(tree).strip()


@pytest.mark.parametrize(
    ("text", "most", "shown"),
    [
        ("```py\nfirst line\nsecond line\nthird line\n```", 30, [["pre", "first line\nsecond\n…"]]),
        ("**Some** words\n\n```py\nfirst = 1\n```", 28, [["p", ["b", "Some"], " words"], ["p", "…"]]),
        (
            "|a|b|\n|-|-|\n|1|2|\n|three|four and more|",
            30,
            [["table", ["tr", ["th", "a"], ["th", "b"]], ["tr", ["td", "1"], ["td", "2"]]], ["p", "…"]],
        ),
        ("It is **quite a bold thing to say**, is it not?", 30, [["p", "It is ", ["b", "quite a bold…"]]]),
    ],
)
def test_a_cut_within_code_a_table_or_bold_words_still_draws_them(text: str, most: int, shown: Any) -> None:
    """Guards against fences and stars left over at the end."""
    assert short(markup_of(shortened_markdown(text, most))) == shown


def test_thoughts_are_no_part_of_a_reply() -> None:
    """They stand in the record, and not on the page."""
    assert looked_over("<think>Hm.</think>**Yes**", appearance="markdown") == ("**Yes**", ["thoughts"])


@pytest.mark.parametrize("said", ["I am **Chat**GPT.", "I am Chat&#71;PT.", "I am [Chat](https://x.yz)GPT."])
def test_a_name_with_signs_in_it_does_not_show(said: str) -> None:
    """The page joins what signs divide: such a reply is shown as plain text, in which the name is masked."""
    presented = SHOWN.present(said, [])
    assert presented.text == "I am [name]."
    assert "markdown" in presented.changes


def test_masks_stand_in_the_markup() -> None:
    """A masked name keeps what stands around it."""
    presented = SHOWN.present("- I am **ChatGPT**\n- by [OpenAI](https://openai.com)", [])
    assert short(markup_of(presented.text)) == [["ul", ["li", "I am ", ["b", "[name]"]], ["li", "by [maker]"]]]


def test_words_that_signs_divide_are_refused_where_offensive_ones_are() -> None:
    """The filter reads what raters would."""
    blocking = Presenter(appearance="markdown", response_filter=ResponseFilter(["pineapple"]), block=True)
    assert blocking.refuse("I like **pine**apple.") == "offensive: pineapple"


@pytest.mark.parametrize(
    ("text", "formatted"),
    [("**Tea**, please", True), ("Sure:\n- tea\n- milk", True), ("## Tea\nHot", True), ("`x = 1`", True),
     ("*smiles* I like 2*3*4.", False), ("One line\n\nand another", False), ("", False)],
)  # fmt: skip
def test_smiles_and_lines_of_old_chats_are_no_format(text: str, formatted: bool) -> None:
    assert is_formatted(text) is formatted
