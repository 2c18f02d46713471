"""Runs ParlAI's own worlds with scripted people and models, and keeps what they save: samples that are the real format.

`python parlai_saves.py [FOLDER]` writes the files of samples/ (or FOLDER) anew.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

SAMPLES = Path(__file__).parent / "samples"
BUCKETS = ("engaging", "human-like", "none_all_good")
START = 1_714_556_000.0
QUESTION = "Which next response from your partner would you prefer in a long conversation?"


class Clock:
    """Seconds that pass between messages: two for a model, nine for a person."""

    def __init__(self) -> None:
        self.now = START

    def tick(self, seconds: float) -> float:
        self.now += seconds
        return self.now


class Person:
    """The wrapper of a Mephisto agent, as far as the worlds use it; ``acts`` are what the page sends."""

    def __init__(self, name: str, number: int, acts: Iterator[Callable[[Person], dict[str, Any]]]) -> None:
        self.clock, self.acts = Clock(), acts
        self.messages: list[dict[str, Any]] = []
        worker = SimpleNamespace(worker_name=name, grant_qualification=lambda *_: None)
        self.mephisto_agent = SimpleNamespace(
            db_id=str(number),
            task_run_id="1",
            assignment_id=str(number),
            get_worker=lambda: worker,
            state=SimpleNamespace(messages=[]),
        )
        self.agent_id = self.id = "Worker"

    def observe(self, act: Mapping[str, Any]) -> None:
        sent = json.loads(json.dumps({"update_id": f"u{len(self.messages)}", **act}))
        self.messages.append({**sent, "timestamp": self.clock.tick(2)})

    def act(self, timeout: float | None = None) -> dict[str, Any]:
        sent = {"episode_done": False, "id": self.agent_id, **next(self.acts)(self)}
        self.messages.append({**json.loads(json.dumps(sent)), "timestamp": self.clock.tick(9)})
        return sent

    def shutdown(self) -> None:
        """Nothing is open."""


class Model:
    """A bot that says the next of its lines."""

    def __init__(self, name: str, lines: Sequence[str]) -> None:
        self.worker_id, self.agent_id, self.lines = name, name, list(lines)
        self.model_agent = SimpleNamespace(
            opt={"model_file": f"zoo/{name}/model"}, history=SimpleNamespace(history_strings=[])
        )

    def observe(self, act: Mapping[str, Any], increment_turn: bool = True) -> None:
        """It does not listen."""

    def act(self, timeout: float | None = None) -> dict[str, Any]:
        return {"text": self.lines.pop(0), "id": self.worker_id, "episode_done": False}


def worlds() -> tuple[ModuleType, ModuleType]:
    """ParlAI's two modules, made importable: they want a name that Mephisto 1.1.1 lacks, and a list from the net."""
    from mephisto_tasks._util.compat import prepare

    prepare()
    import mephisto.utils.metrics as metrics

    if not hasattr(metrics, "InaccessiblePrometheusServer"):
        metrics.InaccessiblePrometheusServer = type("InaccessiblePrometheusServer", (Exception,), {})
    # This one cannot be imported on Python 3.11 (a dataclass as a field's default); its one function is as there.
    mturk = ModuleType("parlai.crowdsourcing.utils.mturk")
    mturk.get_mturk_id_from_mephisto_wrapper = lambda agent: (
        f"--NOT-MTURK-AGENT-{agent.mephisto_agent.get_worker().worker_name}"
    )
    sys.modules.setdefault(mturk.__name__, mturk)
    from parlai.crowdsourcing.tasks.model_chat import worlds as model_chat
    from parlai.crowdsourcing.tasks.pairwise_per_turn_eval import worlds as per_turn

    for module in (model_chat, per_turn):
        module.AcceptabilityChecker = lambda: None
    return model_chat, per_turn


def options(folder: Path) -> dict[str, Any]:
    buckets = [{"value": name, "name": name, "description": f"It is {name}."} for name in BUCKETS]
    return {
        "num_turns": 3,
        "max_resp_time": 60,
        "is_sandbox": True,
        "check_acceptability": False,
        "block_qualification": "block",
        "include_persona": False,
        "conversation_start_mode": "hi",
        "annotations_config": json.dumps(buckets),
        "chat_data_folder": str(folder),
        "task_question": QUESTION,
        "run_statistics": {"tulip": 0, "tulip:daisy": 0},
    }


def ticked(*names: str) -> dict[str, bool]:
    return {name: name in (names or ("none_all_good",)) for name in BUCKETS}


def say(text: str, problem_data: Mapping[str, bool] | None) -> Callable[[Person], dict[str, Any]]:
    data = {} if problem_data is None else {"problem_data_for_prior_message": dict(problem_data)}
    return lambda _: {"text": text, "task_data": data}


def rate(rating: str, problem_data: Mapping[str, bool]) -> Callable[[Person], dict[str, Any]]:
    data = {"problem_data_for_prior_message": dict(problem_data), "final_rating": rating}
    return lambda _: {"text": "", "task_data": data}


def model_chat(folder: Path, worker: str = "A1PARLAIWORKER", number: int = 7) -> dict[str, Any]:
    """A chat of three replies with the model “tulip”; returns the agent's state.json, and writes the chat data."""
    module, _ = worlds()
    acts = iter(
        [
            say("Do you know a good lake to swim in?", ticked("engaging")),
            say("How cold is it?", ticked("engaging", "human-like")),
            rate("|4|2", ticked()),
        ]
    )
    person = Person(worker, number, acts)
    bot = Model("tulip", ["Hello, what are you up to?", "The small one behind the mill.", "Cold enough to shout."])
    world = module.ModelChatWorld(options(folder), agent=person, bot=bot)
    return run(world, person)


def pick(place: str, why: str, last: bool = False) -> Callable[[Person], dict[str, Any]]:
    """Choose the reply on ``top`` or ``bottom`` of those shown last, as the page does."""
    other = {"top": "bottom", "bottom": "top"}[place]

    def act(person: Person) -> dict[str, Any]:
        shown = next(m["task_data"] for m in reversed(person.messages) if "top_bot_data" in m.get("task_data", {}))
        data = {
            "accepted_bot_response": shown[f"{place}_bot_data"][f"{place}_bot_response"],
            "accepted_bot_id": shown[f"{place}_bot_data"][f"{place}_bot_id"],
            "not_accepted_bot_response": shown[f"{other}_bot_data"][f"{other}_bot_response"],
            "not_accepted_bot_id": shown[f"{other}_bot_data"][f"{other}_bot_id"],
            "task_turn_idx": shown["task_turn_idx"],
            "justification_value": why,
        }
        return {"text": "", "task_data": {**data, **({"finished": True} if last else {})}}

    return act


def per_turn(folder: Path, worker: str = "A2PARLAIWORKER", number: int = 9, seed: int = 3) -> dict[str, Any]:
    """Three turns with “tulip” and “daisy”; top, bottom and bottom are chosen. Returns the agent's state.json."""
    _, module = worlds()
    random.seed(seed)
    acts = iter(
        [
            pick("top", "short and calm"),
            say("I am baking bread.", None),
            pick("bottom", "it asks me something"),
            say("With rye.", None),
            pick("bottom", "=funny", last=True),
        ]
    )
    person = Person(worker, number, acts)
    bots = (
        Model("tulip", ["Hello, what are you up to?", "Nobody asked.", "Rye is for horses, and for me."]),
        Model("daisy", ["Hi.", "Which flour do you take?", "I see."]),
    )
    world = module.PerTurnEvalWorld(options(folder), agent=person, bots=bots)
    return run(world, person)


def run(world: Any, person: Person) -> dict[str, Any]:
    """The loop of Mephisto's task runner, and the file that its agent state writes at the end."""
    while not world.episode_done():
        world.parley()
    person.observe({"task_data": {"task_done": True}})
    world.shutdown()
    person.observe({"id": "SUBMIT_WORLD_DATA", "WORLD_DATA": world.prep_save_data([person]), "text": ""})
    return {
        "outputs": {"messages": person.messages, "final_submission": {}},
        "inputs": {},
        "metadata": {"task_start": START, "task_end": person.clock.now, "tips": None, "feedback": None},
    }


def dialogue(model: str, *lines: str) -> dict[str, Any]:
    speakers = [f"{model}_partner", model]
    said = [{"id": speakers[place % 2], "text": line} for place, line in enumerate(lines)]
    return {"speakers": speakers, "dialogue": said}


def pairings() -> list[dict[str, Any]]:
    """Lines of a pairings file: one of the onboarding, and two of “tulip” and “daisy”."""
    tulip = [dialogue("tulip", "Hello", f"I keep bees, {many} of them.") for many in ("four", "nine")]
    daisy = [dialogue("daisy", "Hello", "Yes."), dialogue("daisy", "Good day", "No.")]
    dull = dialogue("dull", "Where do you live?", "what")
    return [
        {
            "is_onboarding": True,
            "speakers_to_eval": ["dull", "tulip"],
            "correct_answer": "tulip",
            "dialogue_ids": [0, 1],
            "dialogue_dicts": [dull, tulip[0]],
        },
        *(
            {
                "is_onboarding": False,
                "speakers_to_eval": ["tulip", "daisy"],
                "dialogue_ids": [2 * n + 2, 2 * n + 3],
                "dialogue_dicts": [tulip[n], daisy[n]],
            }
            for n in (0, 1)
        ),
    ]


def acute_tasks(folder: Path, seed: int = 0) -> list[dict[str, Any]]:
    """What ParlAI's runner makes of the pairings and shows: the onboarding first."""
    worlds()
    from parlai.crowdsourcing.tasks.acute_eval.acute_eval_runner import AcuteEvalRunner

    file = folder / "pairings.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in pairings()), encoding="utf-8")
    blueprint = SimpleNamespace(
        pairings_filepath=str(file),
        s1_choice="<Speaker 1>",
        s2_choice="<Speaker 2>",
        eval_question="Who would you prefer to talk to for a long conversation?",
    )
    runner = SimpleNamespace(args=SimpleNamespace(blueprint=blueprint), onboarding_tasks=[], desired_tasks=[])
    random.seed(seed)
    AcuteEvalRunner._load_conversation_data(runner)
    return [*runner.onboarding_tasks, *runner.desired_tasks]


def acute(folder: Path, choices: Sequence[str] = ("tulip", "tulip", "daisy")) -> dict[str, Any]:
    """An agent_data.json: the onboarding and two pairs."""
    answers = [{"speakerChoice": name, "textReason": f"I like {name}"} for name in choices]
    return {
        "inputs": acute_tasks(folder),
        "outputs": {"final_data": answers},
        "metadata": {"task_start": START, "task_end": START + 90},
    }


def parsed(state: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What ParlAI's agent state gives to whoever reads the results."""
    worlds()
    from parlai.crowdsourcing.tasks.acute_eval.acute_eval_agent_state import AcuteEvalAgentState

    data: list[dict[str, Any]] = AcuteEvalAgentState.get_parsed_data(SimpleNamespace(get_data=lambda: state))
    return data


def main() -> None:
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else SAMPLES
    out.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        states = {"model_chat_state.json": model_chat(Path(folder)), "per_turn_state.json": per_turn(Path(folder))}
        (saved,) = Path(folder).rglob("*.json")
        states["acute_agent_data.json"] = acute(Path(folder))
        unit = {"worker_id": "3", "worker_name": "A3PARLAIWORKER", "unit_id": "5", "assignment_id": "5"}
        unit |= {"status": "completed", "data": parsed(states["acute_agent_data.json"])}
        states["acute_unit.json"] = {**unit, "task_start": START, "task_end": START + 90}
        states["model_chat.json"] = json.loads(saved.read_text(encoding="utf-8"))
    for name, state in states.items():
        (out / name).write_text(json.dumps(state, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
