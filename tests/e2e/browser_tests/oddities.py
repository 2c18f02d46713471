"""What the odd models do: apart from them, so that a test can read it without loading a model's libraries."""

MARKUP = (
    '<img src="x" onerror="window.stolen=1"><script>window.stolen=1</script>\n'
    '<b>bold</b> &amp; <a href="javascript:window.stolen=1">link</a> {{7*7}} ${window.stolen=1} "quotes" and \'more\''
)
LONG_WORD = "https://example.org/" + "verylongword" * 30
MARKDOWN = """# Boats

Here is **bold**, *soft* and `code`, a [link](https://example.org/away), and an ![old boat](data:image/png;base64,AAAA).

- one
- two

> said

```python
print("a line that is longer than any card on any telephone or laptop that anybody has ever seen", "and then some")
```
"""
TRAPS = (
    '**x** <script>window.stolen=1</script> <img src=x onerror="window.stolen=1"> [a](javascript:window.stolen=1) '
    "[b](data:text/html,<script>window.stolen=1</script>) \u202eturned &#8238;around &#x2067;again"
)
WIDE_TABLE = "\n".join(
    ["|".join(f"head {column}" for column in range(100)), "|".join(["-"] * 100), "|".join(f"{n}" for n in range(100))]
)
DEEP = ">" * 2000 + " deep\n\n" + "- " * 40 + "**list**"
ENDLESS = "**start** " + "x" * 10_000
LONG = "\n\n".join(
    f"{number}. **Step {number}.** " + "Sand the old boat and paint it again. " * 8 for number in range(1, 19)
)
"""About 6,000 characters."""
SAME = "Great minds think alike, and so do the two of us."
SLOW_S = 3.2
"""Longer than the study's time-out for a model."""
SECOND_TRY_S = 1.7
"""Shorter than it, and long enough for a person to read that it takes longer."""
