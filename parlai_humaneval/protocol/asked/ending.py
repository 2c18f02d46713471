"""What is asked when a conversation is over, beside the criteria: the verdict on two partners, and the ends of sliders."""

from __future__ import annotations

from parlai_humaneval.languages.speaking import phrase

VERDICTS = {
    "a": phrase("A is better"),
    "b": phrase("B is better"),
    "tie": phrase("Tie: both are good"),
    "both_bad": phrase("Both are bad"),
}
SLIDER_ENDS = (phrase("strongly disagree"), phrase("strongly agree"))
FINAL_QUESTION = phrase("The conversation is over. How was your partner?")
"""Above the scales at the end of a conversation whose turns were rated by another question."""
