"""The options of the TransferTransfo agent, and its defaults of ParlAI's own."""

from __future__ import annotations

from parlai.core.params import ParlaiParser

SIZES = ("small", "medium", "large", "xl")


def add_transfer_transfo_args(parser: ParlaiParser) -> None:
    """Declare what TransferTransfo has beside the options of ParlAI's generators."""
    group = parser.add_argument_group("TransferTransfo arguments")
    group.add_argument(
        "--hf-model", type=str, default=None, help="Training starts from this: a folder or a name on the hub"
    )
    group.add_argument("--gpt2-size", type=str, default="small", choices=SIZES, help="… or from GPT-2 of this size")
    group.add_argument("--num-negatives", type=int, default=4, help="Wrong replies beside the true one (Liu 2023)")
    group.add_argument(
        "--lm-coef", type=float, default=2.0, help="Weight of the language modelling loss (Wolf et al. 2019, §4)"
    )
    group.add_argument(
        "--mc-coef", type=float, default=1.0, help="Weight of the multiple-choice loss (Wolf et al. 2019, §4)"
    )
    group.add_argument(
        "--max-history",
        type=int,
        default=2,
        help="Exchanges that are read besides the last message (the authors' code: 2); -1: all that fit",
    )
    group.add_argument(
        "--knowledge-field",
        type=str,
        default="",
        help="Field of a message whose text is known for that turn, e.g. checked_sentence of wizard_of_wikipedia",
    )
    parser.set_defaults(
        inference="nucleus",
        topp=0.9,
        temperature=0.7,
        text_truncate=768,
        label_truncate=128,
        rank_candidates=True,
        dict_maxexs=0,
        lr_scheduler="fixed",  # ParlAI's default, reduceonplateau, crashes on newer torch
    )
