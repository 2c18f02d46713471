"""``parlai-humaneval parlai …``: ParlAI's own command, which knows this package anyway; its errors are one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import click

from parlai_humaneval.cli.errors import WrongUsage, cli_errors
from parlai_humaneval.parlai_plugin.setup import parser_problem


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False, "help_option_names": []},
    add_help_option=False,
)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def parlai(ctx: click.Context, args: tuple[str, ...]) -> None:
    """ParlAI's own commands, which know this package's agents: as `parlai` does, but with shorter errors.

    \b
    Short names for -m/--model:
      parlai_humaneval/bot_speaker       several models behind one partner (--models a,b)
      parlai_humaneval/eliza             NLTK's ELIZA
      parlai_humaneval/retrieval         TF-IDF over the packaged conversations
      parlai_humaneval/degraded          random, distorted replies: quality control
      parlai_humaneval/transfer_transfo  GPT-2 with a second head that picks replies; to train
      parlai_humaneval/kv_memnn          key-value memory network; to train
      parlai_humaneval/lstm              LSTM language model; to train
      parlai_humaneval/causal_lm         chat models of Hugging Face (--hf-model)
      parlai_humaneval/seq2seq_lm        its encoder-decoders (--hf-model)
      parlai_humaneval/chat_completions  a server with OpenAI's interface (--base-url)
      parlai_humaneval/callable          a Python function (--function my_bot.py:reply)
      parlai_humaneval/command           a program (--command "python my_bot.py")
      parlai_humaneval/http_endpoint     a server that speaks four lines of JSON (--url)

    \b
    Presets for -o/--init-opt, besides ParlAI's own:
      gen/blenderbot  gen/meena  gen/seq2seq  gen/seeker_dialogue  gen/seeker_lm  gen/r2c2_bb3
      arch/blenderbot_3B  arch/bart_large  arch/r2c2_base_400M  arch/r2c2_base_3B

    \b
    A command besides ParlAI's own:
      batched_self_chat                  self_chat with many dialogues at once, and pairs of models

    \b
    Examples:
      parlai-humaneval parlai interactive -m parlai_humaneval/bot_speaker --models eliza,retrieval
      parlai-humaneval parlai self_chat -m parlai_humaneval/retrieval --num-self-chats 2
      parlai-humaneval parlai interactive -mf zoo:blender/blender_90M/model -o gen/blenderbot
      parlai-humaneval parlai batched_self_chat -m parlai_humaneval/retrieval --num-self-chats 50 --outdir chats
      parlai-humaneval parlai --help              ParlAI's list of commands
      parlai-humaneval parlai self_chat --help    one command's options
    """
    if not args:
        click.echo(ctx.get_help())
        return
    # Imported here: ParlAI takes seconds, and `parlai-humaneval --help` needs none of it.
    from parlai.core.script import superscript_main

    with cli_errors(), _parser_errors_without_usage():
        superscript_main(list(args))


@contextmanager
def _parser_errors_without_usage() -> Iterator[None]:
    """What ParlAI's parser refuses ends with status 2, without the hundreds of lines of its usage."""
    from parlai.core.params import ParlaiParser

    def refuse(self: Any, message: str) -> NoReturn:
        raise WrongUsage(parser_problem(self, message))

    before, ParlaiParser.error = ParlaiParser.error, refuse
    try:
        yield
    finally:
        ParlaiParser.error = before
