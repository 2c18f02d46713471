"""A plain function as a model: how it is found, what it gets, and what happens when it fails."""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from own_models import own, said, written

from parlai_humaneval.cli.models import models
from parlai_humaneval.models.model_pool import ModelFailed, ModelPool
from parlai_humaneval.models.pool.loading import load_agent
from parlai_humaneval.models.zoo.entries import ModelSpec, ZooError
from parlai_humaneval.models.zoo.files import missing

LISTS_ALL = """
    from parlai_humaneval import Turn

    def reply(history, *, persona, seed=0):
        assert all(isinstance(turn, Turn) for turn in history)
        lines = "; ".join(f"{turn.speaker} said {turn.text}" for turn in history)
        return f"{lines} / {', '.join(persona)} / {seed}"
"""


def test_turn_is_light() -> None:
    """Guards a bot that is also used elsewhere: to import Turn must not import ParlAI or torch."""
    code = "import sys; from parlai_humaneval import Turn; print({'parlai', 'torch', 'mephisto'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_it_gets_the_whole_dialogue_and_what_it_declares(tmp_path: Path) -> None:
    """Guards the contract: oldest line first, both speakers, persona and seed by name."""
    written(tmp_path / "bot.py", LISTS_ALL)
    with ModelPool([own("callable", tmp_path, function="bot.py:reply")]) as pool:
        first, second = said(pool, "Hi!", "And you?", personas={"mine": ["I cook."]})
    assert first == "human said Hi! / I cook. / 7"
    assert second == f"human said Hi!; bot said {first}; human said And you? / I cook. / 7"


def test_it_may_have_the_first_word(tmp_path: Path) -> None:
    """Guards an empty history: no line is made up that nobody said."""
    written(tmp_path / "bot.py", "def reply(history):\n    return f'{len(history)} lines'\n")
    agent = load_agent(own("callable", tmp_path, function="bot.py:reply")).clone()
    assert agent.act()["text"] == "0 lines"


@pytest.mark.parametrize(
    ("code", "function"),
    [
        ("def reply(history):\n    return 'x'\n", "bot:reply"),
        ("async def reply(history, **others):\n    return 'x' if others['seed'] == 7 else 'y'\n", "./bot.py:reply"),
        ("class Bot:\n    def __call__(self, history):\n        return 'x'\nbot = Bot()\n", "bot.py:bot"),
        (
            "class Bot:\n    @staticmethod\n    def reply(history, seed):\n        return 'x'\n",
            "{absolute}/bot.py:Bot.reply",
        ),
        ("import beside\nreply = lambda history: beside.X\n", "bot.py:reply"),
    ],
)
def test_what_counts_as_a_function(tmp_path: Path, code: str, function: str) -> None:
    """Guards modules and files, methods, callable objects, asynchronous functions, and imports of what stands beside."""
    written(tmp_path / "bot.py", code)
    written(tmp_path / "beside.py", "X = 'x'")
    with ModelPool([own("callable", tmp_path, function=function.format(absolute=tmp_path))]) as pool:
        assert said(pool, "Hi!") == ["x"]


@pytest.mark.parametrize("function", ["bot.py:reply", "bot:reply"])
def test_two_files_of_one_name_are_two_models(tmp_path: Path, function: str) -> None:
    """Guards a study of two bots whose files are both called bot.py: one would answer for both."""
    specs = []
    for name in ("one", "two"):
        written(tmp_path / name / "bot.py", f"def reply(history):\n    return '{name}'\n")
        specs.append(own("callable", tmp_path / name, name=name, function=function))
    with ModelPool(specs) as pool:
        speaker = pool.speaker(["one", "two"])
        speaker.observe({"text": "Hi!", "episode_done": False})
        assert {c["model"]: c["text"] for c in speaker.act()["candidates"]} == {"one": "one", "two": "two"}


def test_one_thread_at_a_time_calls_it_unless_more_are_asked_for(tmp_path: Path) -> None:
    """Guards models that compute: few may be called by two threads at once."""
    written(tmp_path / "bot.py", "def reply(history):\n    return 'x'\n")
    assert load_agent(own("callable", tmp_path, function="bot.py:reply")).concurrency == 1
    assert load_agent(own("callable", tmp_path, function="bot.py:reply", concurrency=4)).concurrency == 4


def test_asynchronous_calls_share_a_loop(tmp_path: Path) -> None:
    """Guards connections that a client keeps open: they belong to the event loop in which they were opened."""
    written(
        tmp_path / "bot.py",
        "import asyncio\nasync def reply(history):\n    return str(id(asyncio.get_running_loop()))\n",
    )
    with ModelPool([own("callable", tmp_path, function="bot.py:reply", concurrency=4)]) as pool:
        assert len({reply for _ in range(3) for reply in said(pool, "Hi!", "Well?")}) == 1


def test_a_failing_function_is_called_again_then_given_up(tmp_path: Path) -> None:
    """Guards the dialogue: one failure is mended, a lasting one names the model and the error."""
    written(
        tmp_path / "bot.py",
        """
        left = [1]

        def once(history):
            left[0] -= 1
            if left[0] >= 0:
                raise KeyError("colour")
            return "there"

        def always(history):
            raise KeyError("colour")

        def answers_a_list(history):
            return ["Hello!"]

        def ends(history):
            raise SystemExit(3)

        def interrupts(history):
            raise KeyboardInterrupt

        async def ends_later(history):
            raise SystemExit(3)

        async def interrupts_later(history):
            raise KeyboardInterrupt
        """,
    )
    with ModelPool([own("callable", tmp_path, function="bot.py:once")], retries=1) as pool:
        assert said(pool, "Hi!") == ["there"]
    with (
        ModelPool([own("callable", tmp_path, function="bot.py:always")], retries=1) as pool,
        pytest.raises(ModelFailed, match=r"mine failed: KeyError: 'colour'"),
    ):
        said(pool, "Hi!")
    ends, interrupts = r"it called sys\.exit\(3\)", r"it interrupts the program \(KeyboardInterrupt\)"
    for name, words in (
        ("ends", ends),
        ("ends_later", ends),
        ("interrupts", interrupts),
        ("interrupts_later", interrupts),
    ):
        with (
            ModelPool([own("callable", tmp_path, function=f"bot.py:{name}")], retries=0) as pool,
            pytest.raises(ModelFailed, match=rf"mine failed: RuntimeError: {words} \(bot\.py, line \d+\)"),
        ):
            said(pool, "Hi!")
    with (
        ModelPool([own("callable", tmp_path, function="bot.py:answers_a_list")], retries=0) as pool,
        pytest.raises(ModelFailed, match=r"bot.py:answers_a_list returned a list, not a string"),
    ):
        said(pool, "Hi!")


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        ("", "'' does not name a function; write my_module:reply or my_folder/my_file.py:reply"),
        ("bot.py", "write my_module:reply"),
        ("absent.py:reply", r"there is no file .*absent\.py"),
        ("absent_module:reply", "No module named 'absent_module'"),
        ("bot.py:answer", r"bot.py has no answer; check"),
        ("bot.py:NUMBER", "NUMBER in bot.py is not a function, but int"),
        ("bot.py:needs_two", r"must take one argument, the history.*\(history, mood\).*'mood'"),
        ("bot.py:needs_none", r"must take one argument, the history"),
        ("ends.py:reply", r"ends the program when it is imported.*__main__"),
        ("wrong.py:reply", "SyntaxError.*wrong.py"),
    ],
)
def test_a_wrong_function_is_refused(tmp_path: Path, function: str, sentence: str) -> None:
    """Guards a study that would begin with a model that can never answer."""
    written(
        tmp_path / "bot.py",
        """
        NUMBER = 3
        def needs_two(history, mood): ...
        def needs_none(): ...
        """,
    )
    written(tmp_path / "ends.py", "import sys; sys.exit(3)")
    written(tmp_path / "wrong.py", "def reply(:")
    spec = own("callable", tmp_path, function=function)
    assert re.search(f"(?s){sentence}", " ".join(missing(spec))), "models check says it as well"
    with pytest.raises(ZooError, match=rf"(?s)mine cannot be loaded: .*{sentence}"):
        load_agent(spec)


@pytest.mark.parametrize("where", ["beside the zoo file", "in the current folder"])
def test_an_agent_is_found_without_a_python_path(tmp_path: Path, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the first thing that everyone tries: my_agent.py in the folder where one works."""
    name = f"agent_{where.split()[0]}"
    written(
        tmp_path / "work" / f"{name}.py",
        """
        from parlai.core.agents import Agent

        class Mine(Agent):
            def act(self):
                return {"id": "mine", "text": "found", "episode_done": False}
        """,
    )
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    folder, current = (tmp_path / "work", elsewhere) if where.startswith("beside") else (elsewhere, tmp_path / "work")
    monkeypatch.chdir(current)
    with ModelPool([ModelSpec(name="mine", options={"model": f"{name}:Mine"}, folder=folder)]) as pool:
        assert said(pool, "Hi!") == ["found"]


def test_of_two_agents_of_one_name_the_second_is_refused(tmp_path: Path) -> None:
    """Guards the same for classes, which Python imports by name: better no model than the wrong one."""
    for name in ("one", "two"):
        written(tmp_path / name / "twin.py", "from parlai.core.agents import Agent\nclass Mine(Agent): ...\n")
    first, second = (
        ModelSpec(name=name, options={"model": "twin:Mine"}, folder=tmp_path / name) for name in ("one", "two")
    )
    assert missing(first) == []
    (sentence,) = missing(second)
    assert re.search(r"twin:Mine comes from .*one/twin\.py, not from .*two/twin\.py\. Rename twin\.py", sentence)


def test_a_file_of_the_users_hides_no_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards a folder with a file such as calendar.py: it must not take the place of Python's."""
    written(tmp_path / "this.py", "raise RuntimeError('the wrong one')")
    written(tmp_path / "bot.py", "import this\ndef reply(history):\n    return this.__file__\n")
    monkeypatch.delitem(sys.modules, "this", raising=False)
    with ModelPool([own("callable", tmp_path, function="bot.py:reply")]) as pool:
        assert str(tmp_path) not in said(pool, "Hi!")[0]


RAISES = """
    import json

    def helper():
        return json.loads("{")

    def reply(history):
        return helper()

    async def later(history):
        return helper()
"""


@pytest.mark.parametrize("function", ["reply", "later"])
@pytest.mark.parametrize("command", [["check", "mine", "--load"], ["chat", "mine"]])
def test_what_it_raises_is_told_once(
    command: list[str],
    function: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Guards whoever mends their bot: one line with the place, their own frames once, and none of ours or a library's."""
    # Mephisto, which another test of this process may have loaded, writes the log into the same terminal.
    monkeypatch.setattr(logging.root, "handlers", [caplog.handler])
    written(tmp_path / "bot.py", RAISES)
    options = {"model": "parlai_humaneval/callable", "function": f"bot.py:{function}"}
    zoo = tmp_path / "zoo.yaml"
    zoo.write_text(json.dumps({"models": {"mine": {"options": options}}}), encoding="utf-8")
    result = CliRunner().invoke(models, [*command, "--zoo", str(zoo)], input="Hi!\n")
    assert result.exit_code == 1
    assert result.output.count("JSONDecodeError") == 1
    assert "(bot.py, line 5)" in result.output
    (logged,) = caplog.records
    assert logged.exc_info is None
    assert logged.getMessage().count("File ") == logged.getMessage().count('bot.py", line') == 2


def test_a_failed_try_is_a_short_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Guards the log of a launch: which try of how many, what was wrong, on one line."""
    written(tmp_path / "bot.py", "def reply(history):\n    raise ValueError('bad\\nday')\n")
    with (
        ModelPool([own("callable", tmp_path, function="bot.py:reply")], retries=1) as pool,
        pytest.raises(ModelFailed) as failed,
    ):
        said(pool, "Hi!")
    told = "ValueError: bad day (bot.py, line 2)"
    assert str(failed.value) == f"no reply from mine: mine failed: {told}"
    tries = [record.getMessage() for record in caplog.records if record.name == "parlai_humaneval.models.pool.asking"]
    assert tries == [f"mine: try 1 of 2 failed: {told}", f"mine: try 2 of 2 failed: {told}"]
