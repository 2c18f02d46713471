"""What each registered agent needs in order to be run: a server, a function, a program, weights, a person, or nothing.

A new agent needs one line in :data:`ROWS`, and one in :data:`TRAINING` if it is trained; the suite fails until it is there.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from faulty_server import completion
from tiny_gpt2 import make_gpt2
from tiny_hugging_face import folder_of
from tiny_vision import make_vision_model

from parlai_humaneval.models.agent.names import AGENT_MODULES, SHORT_PREFIX
from parlai_humaneval.models.backends.human import Desk

Options = dict[str, Any]
REFERENCE = "transformer/generator"
"""ParlAI's own agent, against which all others are held."""
LENGTHS = (4, 4, 4, 2, 4, 4, 3, 4, 1, 4)
"""Exchanges of the task's episodes: no multiple of eight, and not all of one length, so that batches have holes."""


def agent_names() -> list[str]:
    """Every agent that is registered: those of the package, and those that others have registered in this process."""
    loader = sys.modules.get("parlai.core.loader")
    registered = loader.AGENT_REGISTRY if loader else ()
    mine = {name.removeprefix(SHORT_PREFIX) for name in registered if name.startswith(SHORT_PREFIX)}
    return sorted({*AGENT_MODULES, *mine})


def model_name(agent: str) -> str:
    """As ``-m`` takes it."""
    return agent if "/" in agent else f"{SHORT_PREFIX}{agent}"


def answer_to(texts: Sequence[str]) -> str:
    """What everything here that is no model says: any line more or less changes it."""
    return f"I have heard {len(texts)} lines of {sum(map(len, texts))} letters."


class Workshop:
    """Makes what agents need, when the first of them needs it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._changed = threading.Event()
        self.desk = Desk(on_change=self._changed.set)
        self._server: ThreadingHTTPServer | None = None

    def close(self) -> None:
        self.desk.stand_up("partner")
        self.desk.close()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    @property
    def episodes(self) -> list[list[tuple[str, str]]]:
        """Exchanges that are all different."""
        return [
            [
                (f"Hello {episode}, do you like dogs {line}?", f"Yes, I like tea {10 * episode + line}.")
                for line in range(length)
            ]
            for episode, length in enumerate(LENGTHS)
        ]

    @cached_property
    def task(self) -> Options:
        """A task of the episodes."""
        acts = [
            {"dialog": [[{"id": "a", "text": heard}, {"id": "b", "text": said}] for heard, said in episode]}
            for episode in self.episodes
        ]
        path = self._written("task.jsonl", *map(json.dumps, acts))
        return {"task": "jsonfile", "jsonfile_datapath": path, "jsonfile_datatype_extension": False}

    @cached_property
    def corpus(self) -> str:
        """Conversations to answer from."""
        turns = [
            ["Hello, do you like dogs?", "I love dogs, and you?", "Tea is what I like.", "Do you swim in the sea?"],
            ["Hello, what do you like?", "I like tea in the morning.", "Yes, so do I.", "Which tea do you like?"],
        ]
        lines = (json.dumps({"dialogue_id": str(number), "turns": each}) for number, each in enumerate(turns))
        return self._written("corpus.jsonl", *lines)

    @cached_property
    def candidates(self) -> str:
        """Every right answer of the task."""
        return self._written("candidates.txt", *(said for episode in self.episodes for _, said in episode))

    @cached_property
    def gpt2(self) -> str:
        """Weights of GPT-2's architecture."""
        return str(make_gpt2(self.folder / "gpt2"))

    @cached_property
    def function(self) -> str:
        """A Python function."""
        said = "'I have heard %d lines of %d letters.' % (len(history), sum(len(turn.text) for turn in history))"
        return self._written("function.py", "def reply(history):", f"    return {said}") + ":reply"

    @cached_property
    def program(self) -> str:
        """A program that reads questions and writes answers."""
        path = self._written(
            "program.py",
            "import json, sys",
            "for line in sys.stdin:",
            "    history = json.loads(line)['history']",
            "    said = len(history), sum(len(turn['text']) for turn in history)",
            "    print(json.dumps({'text': 'I have heard %d lines of %d letters.' % said}), flush=True)",
        )
        return f"{sys.executable} -S {path}"

    @cached_property
    def server(self) -> str:
        """The address of a server that answers chat completions and our own questions."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Answers)
        threading.Thread(target=self._server.serve_forever, args=[0.02], daemon=True).start()
        return f"http://127.0.0.1:{self._server.server_port}"

    def _written(self, name: str, *lines: str) -> str:
        path = self.folder / name
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return str(path)

    def person(self) -> Options:
        """Somebody at the desk who answers at once."""
        if not self.desk.partners():
            self.desk.sit_down("partner")
            threading.Thread(target=self._write, daemon=True).start()
        return {}

    def _write(self) -> None:
        while self.desk.partners():
            self._changed.clear()
            errand = self.desk.in_hand("partner")
            if errand is None:
                self._changed.wait(0.05)
                continue
            texts = [text for _, text in errand.heard.dialogue]
            self.desk.answer("partner", errand.errand_id, answer_to(texts))


class _Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # headers and body in one packet

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "messages" in body:
            answer = completion(answer_to([message["content"] for message in body["messages"]]))
        else:
            answer = {"text": answer_to([turn["text"] for turn in body["history"]])}
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


ROWS: dict[str, Callable[[Workshop], Options]] = {
    "bot_speaker": lambda made: {"models": "eliza,degraded"},
    "callable": lambda made: {"function": made.function},
    "causal_lm": lambda made: {"hf_model": str(folder_of("gpt2")), "max_new_tokens": 4, "no_cuda": True},
    "chat_completions": lambda made: {"base_url": f"{made.server}/v1", "served_model": "m"},
    "command": lambda made: {"command": made.program},
    "degraded": lambda made: {"dialogue_file": made.corpus},
    "eliza": lambda made: {},
    "http_endpoint": lambda made: {"url": f"{made.server}/"},
    "human": lambda made: made.person(),
    "retrieval": lambda made: {"corpus": made.corpus},
    "vision_lm": lambda made: {
        "hf_model": str(make_vision_model(made.folder / "vision")),
        "max_new_tokens": 4,
        "no_cuda": True,
    },
    "seq2seq_lm": lambda made: {"hf_model": str(folder_of("bart")), "max_new_tokens": 4, "no_cuda": True},
    # Trained; these are the options of the search. ParlAI's sampling draws from one chance for all, so that replies depend
    # on the batch; a memory network's candidates are the batch's unless others are named.
    "kv_memnn": lambda made: {"eval_candidates": "fixed", "fixed_candidates_path": made.candidates},
    "lstm": lambda made: {"beam_min_length": 3, "skip_generation": False},
    "transfer_transfo": lambda made: {"inference": "greedy", "beam_min_length": 3, "skip_generation": False},
    REFERENCE: lambda made: {"beam_min_length": 3, "skip_generation": False},
}
"""Agent → its options, besides ``model`` or ``model_file``."""
_LEARNING = {"optimizer": "adam", "learningrate": 0.01, "text_truncate": 64, "label_truncate": 8}
_WORDS = {**_LEARNING, "dict_tokenizer": "split", "dict_lower": True}
TRAINING: dict[str, Callable[[Workshop], Options]] = {
    "kv_memnn": lambda made: {**_WORDS, "embeddingsize": 16},
    "lstm": lambda made: {**_WORDS, "embeddingsize": 16, "hiddensize": 16, "numlayers": 1, "skip_generation": True},
    "transfer_transfo": lambda made: {
        **_LEARNING, "hf_model": made.gpt2, "learningrate": 0.003, "label_truncate": 16, "skip_generation": True,
    },
    REFERENCE: lambda made: {
        **_WORDS, "embedding_size": 16, "ffn_size": 16, "n_heads": 2, "n_layers": 1, "skip_generation": True,
    },
}  # fmt: skip
"""Agents that are trained → options of their training, besides its length."""


OTHERWISE: dict[tuple[str, str, int], str] = {
    ("bot_speaker", "self_chat", 8): "name the models of the zoo",  # it has each of --models talk to itself
}
"""Agent, command, batch → the words with which a command refuses an agent that ParlAI's own would take."""


class NoRow(AssertionError):
    """A registered agent that nobody has told how to run."""


def options_of(agent: str, made: Workshop) -> Options:
    """What ``agent`` needs.

    Raises:
        NoRow: it has no row in the table.
    """
    if agent not in ROWS:
        raise NoRow(
            f"the agent {model_name(agent)} is registered, but nothing says how it is run: add it to ROWS in "
            f"{Path(__file__).name} (with {{}} if it needs nothing), and to TRAINING if it is trained"
        )
    return ROWS[agent](made)
