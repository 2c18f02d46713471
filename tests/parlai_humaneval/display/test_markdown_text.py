"""Markdown is written as plain text, and what only looks like markdown stays: no reply loses a word."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from parlai_humaneval.display.appearance import looked_over
from parlai_humaneval.display.markdown import without_markdown

WORDS = ["tea", "Milk", "sugar", "of", "é", "茶", "हिन्दी", "12", "3", "x2", "ok"]
SIGNS = [
    "*", "**", "***", "_", "__", "~~", "~~~", "`", "``", "```\n", "```py\n", "~~~\n", "# ", "## ", "### ", "> ", ">", "- ",
    "+ ", "* ", "1. ", "2) ", "---\n", "***\n", "|", "\n-|-\n", "[", "]", "![", "<", ">", "<b>", "</b>", "<br>", "<p>", "\\",
    "](http://u.v)", "](<http://u.v> 'u')", "<http://u.v>", "<!-- u -->", '<div class="u">', "\n", "\n\n", "    ", "\t",
    " ", " ", " ", ".", ":", ", ", "!", "(", ")", "&", "&amp;", "^", "=", "/", "-", '"', "'", "😀",
]  # fmt: skip
MARKDOWNISH = st.lists(st.sampled_from(WORDS * 4 + SIGNS), max_size=40).map("".join)
KNOWN = re.compile(rf"{'|'.join(sorted(WORDS, key=len, reverse=True))}|\d")
HIDDEN = re.compile(r"(?:`{3,}|~{3,})[ \t]*[\w+#.-]{1,20}[ \t]*(?=\n)|\]\(\s*[^)\n]*\)")


@pytest.mark.parametrize(
    "text",
    [
        "2*3*4",
        "f(x)=a*b*c",
        "2**3**4 and x**2, **kwargs, y**2",
        "5*(3+4)*2",
        "5 * 3 * 2",
        "*.py and *.txt, *args",
        "f**k this sh*t",
        "- 5 degrees",
        "It is\n- 5 degrees",
        "10\n- 5\n+ 3",
        "__init__.py and __init__ and __call__(x)",
        "snake_case_name and _x_y",
        "http://a.b/c_d_e and http://x.y/*a*",
        "# of people: 12",
        "# of people: 12\n# of dogs: 3",
        "# 5 on the list",
        "# lower-case words",
        "We are #1",
        "#",
        "if a<b and c>d then",
        "if a<b>c",
        "List<String>, Map<String, Integer>, vector<std::string>",
        "press <Enter> now",
        "<<hello>>",
        "I <3 you",
        "~~~wow~~~",
        "^_^ and *_*",
        "*-* and >_< and -_- and ¯\\_(ツ)_/¯",
        ">:( and >:)",
        "> 5 apples",
        ">= 5",
        ">>> print(1)",
        "~5 or ~~ 6",
        "My name is\n_____",
        "\\\\server\\share and \\d+\\.\\d and \\(x\\)",
        "they [he](he/she) f[i](x)",
        "1986.",
        "3.",
        "1)",
        "- ",
        "> " * 30 + "deep",
        "say '*' or \"*\" or (*)",
    ],
)
def test_what_only_looks_like_markdown_stays(text: str) -> None:
    """Guards sums, names, faces, code and comparisons: CommonMark takes all of these for markdown."""
    assert without_markdown(text) == text


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("***both*** and **_x_** and __very much__", "both and x and very much"),
        ("*sighs* **Note:** yes (*maybe*), *a*, *b* and *c*.", "sighs Note: yes (maybe), a, b and c."),
        ('*"Hi"*, *...and then* **$5** **😀**', '"Hi", ...and then $5 😀'),
        ("这是**重要**的, **중요**는, **हिन्दी** शब्द", "这是重要的, 중요는, हिन्दी शब्द"),
        ("I am **Chat**GPT or Chat**GPT**", "I am ChatGPT or ChatGPT"),
        ("*not\nalone*", "not\nalone"),
        ("\\*not bold\\* 1\\*2", "*not bold* 1*2"),
        ("- one\n  - two\n- three", "one\ntwo\nthree"),
        ("1. a\n   - b\n2. c", "1. a\nb\n2. c"),
        ("1. - b", "1. b"),
        ("Buy:\n- tea", "Buy:\ntea"),
        ("# Title\nwords", "Title\nwords"),
        ("# Title", "Title"),
        ("## lower-case title", "lower-case title"),
        ("> a\n> b\n>\n> c", "a\nb\nc"),
        ("words\n\n---\n\nmore", "words\nmore"),
        ("words\n\n* * *\n\nmore", "words\nmore"),
        ("<p>Hi</p><p>you</p>", "Hi\n\nyou"),
        ("a<!-- no -->b<wbr>c <DIV class='x' hidden>d</DIV>", "abc \nd"),
        ('**[a [b]](http://x.y "t")** ![*c*](/c.png) <me@x.org>', "a [b] c me@x.org"),
        ("```js\nf(*x*)\n", "f(*x*)"),
        ("``` hello there", "``` hello there"),
        ("```hello", "```hello"),
        ("a | b\n-|-\n1 | 2 \\| 3", "a, b\n1, 2 | 3"),
        ("a | b\n-|-\n1 | 2 | 3", "a | b\n-|-\n1 | 2 | 3"),
        ("`<b>` and `` `x` ``", "<b> and `x`"),
        ("- Yes, I think so", "Yes, I think so"),
        ("- 2 eggs\n- 3 apples", "2 eggs\n3 apples"),
        ("You need:\n- 2 eggs", "You need:\n2 eggs"),
        ("> " * 8 + "deep", "deep"),
        ("__all__ of it, __really__", "__all__ of it, really"),
        ("AT&T &amp; R&D", "AT&T & R&D"),
    ],
)
def test_markdown_is_written_as_its_words(text: str, plain: str) -> None:
    """Guards blindness (signs that are surely markdown go) and the words: cells, numbers, deep quotes, unclosed code."""
    assert without_markdown(text) == plain


@given(MARKDOWNISH)
@settings(max_examples=500)
@example("1. - ")
@example("~~~\ntea")
@example("tea|Milk\n-|-\n1|2|3")
@example("> " * 40 + "tea")
@example("- " * 40 + "tea")
def test_no_word_is_lost(text: str) -> None:
    """Guards what models said: all words, in order, but those of addresses, tags and the language of code."""
    shown = without_markdown(text)
    said = KNOWN.findall(HIDDEN.sub(" ", text))
    kept = iter(KNOWN.findall(shown))
    assert all(word in kept for word in said), (said, shown)


@given(st.text(max_size=80))
def test_any_letters_are_kept(text: str) -> None:
    """Guards other alphabets, and characters that a parser of markdown treats in ways of its own."""
    text = text.replace("&", "").replace("<", "").replace("`", "").replace("~", "").replace("[", "")
    letters = [character for character in text if character.isalnum()]
    assert [character for character in without_markdown(text) if character.isalnum()] == letters


def test_what_entities_stand_for_is_looked_over_too() -> None:
    """Guards names: “&#8203;” becomes a character without a shape only when markdown is taken away."""
    assert looked_over("Chat&#8203;GPT &#x202e;x", appearance="plain") == ("ChatGPT x", ["markdown"])


def test_empty_lines_alone_are_no_markdown() -> None:
    """Guards the notes on what was done."""
    assert looked_over("2 * 3\n\n4 * 5", appearance="plain") == ("2 * 3\n4 * 5", ["white_space"])
