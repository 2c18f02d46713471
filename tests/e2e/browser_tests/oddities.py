"""What the odd models do: apart from them, so that a test can read it without loading a model's libraries."""

MARKUP = (
    '<img src="x" onerror="window.stolen=1"><script>window.stolen=1</script>\n'
    '<b>bold</b> &amp; <a href="javascript:window.stolen=1">link</a> {{7*7}} ${window.stolen=1} "quotes" and \'more\''
)
LONG_WORD = "https://example.org/" + "verylongword" * 30
SAME = "Great minds think alike, and so do the two of us."
SLOW_S = 2.2
"""Longer than the study's time-out for a model."""
SECOND_TRY_S = 0.7
"""Shorter than it, and long enough for a person to read that it takes longer."""
