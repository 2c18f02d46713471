"""Where models are loaded: what a zoo file may say of it, what a command may change, and what happens when places end."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from parlai_humaneval.cli.options import placed
from parlai_humaneval.models.backends.base import OutsideError, Said
from parlai_humaneval.models.pool.loading import Utterance
from parlai_humaneval.models.workers import hosts as hosts_module
from parlai_humaneval.models.workers.hosts import Hosts, ModelPlacement, Replica, with_engine
from parlai_humaneval.models.workers.process import Host, HostGone, Question
from parlai_humaneval.models.workers.ray_actor import PLACE_S, Room
from parlai_humaneval.models.zoo.entries import ModelSpec, Running, ZooError, load_zoo, resolve


def zoo_file(folder: Path, running: str) -> Path:
    path = folder / "own.yaml"
    path.write_text(f"models:\n  mine:\n    extends: eliza\n    running: {running}\n")
    return path


@pytest.mark.parametrize(
    ("running", "complaint"),
    [
        ("{engine: process}", "Input should be 'here', 'processes' or 'ray'"),
        ("{engine: processes, gpus: 1}", "gpus is for engine: ray, not for processes"),
        ("{engine: ray, devices: ['cuda:0']}", "devices is for engine: processes, not for ray"),
        ("{engine: here, replicas: 2}", "replicas is for engine: processes or ray, not for here"),
        ("{engine: processes, devices: [gpu1]}", "expected cpu, or cuda:0, cuda:1"),
        ("{engine: ray, replicas: 0}", "greater than or equal to 1"),
        ("{engine: ray, adress: 'a:1'}", "Did you mean address?"),
    ],
)
def test_what_does_not_go_together_is_told_with_its_place(tmp_path: Path, running: str, complaint: str) -> None:
    """Guards zoo files against a setting that would silently do nothing."""
    with pytest.raises(ZooError) as wrong:
        load_zoo(more=[zoo_file(tmp_path, running)])
    assert complaint in str(wrong.value)
    assert "own.yaml: models.mine.running" in str(wrong.value)


def test_an_entry_that_extends_another_into_nonsense_is_told(tmp_path: Path) -> None:
    """Guards settings that are right in each entry, and not together."""
    path = tmp_path / "own.yaml"
    path.write_text(
        "models:\n  first: {extends: eliza, running: {engine: ray, gpus: 1}}\n"
        "  second: {extends: first, running: {engine: processes}}\n"
    )
    with pytest.raises(ZooError, match=r"own\.yaml: models\.second\.running: gpus is for engine: ray"):
        load_zoo(more=[path])


def test_a_command_puts_models_on_another_engine_and_leaves_those_that_ask_elsewhere() -> None:
    """Guards servers, programs and people, whose keys, folders and pages are on this machine."""
    specs = resolve(["retrieval", "human"], load_zoo())
    retrieval = specs[0].model_copy(update={"running": Running(max_batch=3, engine="processes", devices=["cpu"])})
    on_ray, human = with_engine([retrieval, specs[1]], "ray", replicas=4, address="10.0.0.1:6379")
    assert on_ray.running == Running(max_batch=3, engine="ray", replicas=4, address="10.0.0.1:6379")
    assert human == specs[1]
    assert with_engine([retrieval], None) == [retrieval]
    assert with_engine([retrieval], "here")[0].running.copies == 1
    for wrong in ({"engine": None, "replicas": 2}, {"engine": "processes", "address": "10.0.0.1:6379"}):
        with pytest.raises(ZooError, match=r"is for engine|need an engine"):
            with_engine([retrieval], wrong.pop("engine"), **wrong)


def test_a_function_goes_along_and_an_engine_that_changes_nothing_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Guards ``--engine`` against being ignored without a word: a function may compute, a server does not."""
    function = ModelSpec(
        name="own", options={"model": "parlai_humaneval/callable", "function": "a.py:f"}, folder=tmp_path
    )
    human = resolve(["human"], load_zoo())[0]
    assert placed([function, human], "processes", 2, None)[0].running == Running(engine="processes", replicas=2)
    assert "not from processes: human\n" in capsys.readouterr().err
    with pytest.raises(ZooError, match=r"engine processes: it runs none of these models \(human\)"):
        placed([human], "processes", 2, None)
    assert placed([human], "here", None, None) == [human]
    assert capsys.readouterr().err == ""


def test_a_person_answers_at_the_launch_alone() -> None:
    """Guards the partners' page: another process has none."""
    person = resolve(["human"], load_zoo())[0].model_copy(update={"running": Running(engine="processes")})
    with pytest.raises(ZooError, match="a person answers at the launch's own page"):
        ModelPlacement([person]).load()


class InThisProcess:
    """A real host, whose process is this one, and which “ends” when the test says so."""

    def __init__(self, asked: list[Sequence[Question]]) -> None:
        self._host = Host(max_batch=8, torch_threads=1)
        self._asked = asked
        self.ended = False

    def call(self, method: str, *arguments: Any) -> Any:
        if method == "answer":
            self._asked.append(arguments[1])
            self.ended |= any(question.dialogue[-1].text == "die" for question in arguments[1])
        if self.ended:
            raise HostGone("process 1 was ended by the test")
        went_well, result = self._host.call(method, arguments)
        if went_well:
            return result
        raise result

    def end(self) -> None:
        self.ended = True


class Cluster:
    """Starts hosts in this process, and knows them all."""

    def __init__(self, number: int) -> None:
        self.replicas: list[InThisProcess] = []
        self.asked: list[Sequence[Question]] = []
        self.dead_on_arrival = False
        self.lost_while_loading = 0
        self.hosts = Hosts(resolve(["eliza"], load_zoo())[0], self._start, number)

    def wait_for_all(self) -> None:
        """Until there is a process in each place again."""
        while len(self.hosts._free) < self.hosts.number:
            time.sleep(0.01)

    def _start(self, index: int) -> Replica:
        self.replicas.append(InThisProcess(self.asked))
        self.replicas[-1].ended = self.dead_on_arrival or len(self.replicas) <= self.lost_while_loading
        return self.replicas[-1]


def question(*lines: str) -> Question:
    """After ``lines``, by turns of the person and the bot."""
    speakers = ("human", "bot")
    utterances = (Utterance(speakers[place % 2], line) for place, line in enumerate(lines))
    return Question("a conversation", 7, tuple(utterances))


def refusal(cluster: Cluster) -> OutsideError:
    """What is said to whoever asks now."""
    with pytest.raises(OutsideError) as error:
        cluster.hosts.ask("eliza", [question("Hi!")])
    return error.value


def test_another_host_gives_the_same_answer_from_the_question_alone() -> None:
    """Guards hosts against keeping what no question brings along: the one that heard the dialogue has ended."""
    cluster = Cluster(number=2)
    cluster.hosts.load()
    first = cluster.hosts.ask("eliza", [question("I am sad.")])[0].text
    asked = question("I am sad.", first, "My mother hates me.")
    (second,) = cluster.hosts.ask("eliza", [asked])
    cluster.replicas[1].end()  # which has just been asked
    assert [cluster.hosts.ask("eliza", [asked]) for _ in range(3)] == [[second]] * 3
    assert len(cluster.replicas) == 3, "another took its place"
    cluster.hosts.close()


def test_copies_that_are_started_anew_wait_no_longer_than_one() -> None:
    """Guards a launch against three times the time-out, where one actor after another ends while it waits for room."""
    room = Room()
    room.waited["eliza", 0] += PLACE_S - 5
    assert room.patience(("eliza", 0)) == 5
    room.waited["eliza", 0] += PLACE_S
    assert (room.patience(("eliza", 0)), room.patience(("eliza", 1))) == (0, PLACE_S)


def test_a_host_that_ends_while_it_loads_is_replaced_a_few_times() -> None:
    """Guards a launch against the loss of one process at its start, and against a model that takes each along."""
    cluster = Cluster(number=1)
    cluster.lost_while_loading = hosts_module.DEADLY - 1
    cluster.hosts.load()
    assert cluster.hosts.ask("eliza", [question("Hi!")])[0].text
    cluster.hosts.close()
    hopeless = Cluster(number=1)
    hopeless.dead_on_arrival = True
    with pytest.raises(ZooError, match="eliza cannot be loaded: process 1 was ended by the test"):
        hopeless.hosts.load()
    assert len(hopeless.replicas) == hosts_module.DEADLY


def test_hosts_that_end_again_and_again_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards a launch against starting processes for ever, and against waiting for ever when none is left."""
    monkeypatch.setattr(hosts_module, "LONGEST_PAUSE_S", 0.01)
    cluster = Cluster(number=2)
    cluster.hosts.load()
    cluster.dead_on_arrival = True
    for replica in cluster.replicas:
        replica.end()
    held = refusal(cluster)
    assert str(held) == "its process is being restarted: process 1 was ended by the test"
    assert held.absence, "conversations wait for it, as for a server"
    while not (last := refusal(cluster)).final:
        time.sleep(0.01)
    assert str(last) == "all its processes have ended: process 1 was ended by the test"
    assert len(cluster.asked) == 2, "each process is asked once"
    assert len(cluster.replicas) == 2 + 2 * hosts_module.RESTARTS


def test_a_question_at_which_process_after_process_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the other conversations: theirs are answered, and the model is not started anew for ever for this one."""
    monkeypatch.setattr(hosts_module, "LONGEST_PAUSE_S", 0.01)
    cluster = Cluster(number=hosts_module.DEADLY)
    cluster.hosts.load()
    with pytest.raises(OutsideError, match="3 processes ended while they answered this question") as given_up:
        cluster.hosts.ask("eliza", [question("die")])
    assert given_up.value.final
    cluster.wait_for_all()
    with pytest.raises(OutsideError) as of_a_batch:
        cluster.hosts.ask("eliza", [question("Hi!"), question("die")])
    assert not of_a_batch.value.final, "each is then asked by itself"
    cluster.wait_for_all()
    assert cluster.hosts.ask("eliza", [question("Hi!")])[0].text
    cluster.hosts.close()


def test_whoever_waits_for_a_host_is_told_when_the_pool_closes() -> None:
    """Guards the end of a launch: no thread waits for a process that nobody starts any more."""
    cluster = Cluster(number=1)
    cluster.hosts.load()
    place = cluster.hosts._take()  # busy, as far as the others know
    errors: list[Exception] = []

    def ask() -> None:
        try:
            cluster.hosts.ask("eliza", [question("Hi!")])
        except RuntimeError as error:
            errors.append(error)

    waiting = threading.Thread(target=ask)
    waiting.start()
    time.sleep(0.05)
    cluster.hosts.close()
    waiting.join(10)
    assert [str(error) for error in errors] == ["the model pool was closed"]
    assert place.replica.ended


def test_a_model_that_fails_at_one_line_answers_the_others_of_its_batch(tmp_path: Path) -> None:
    """Guards the conversations that happen to share a batch with a bad one, and the words of its error."""
    (tmp_path / "moody.py").write_text(
        "def reply(history):\n    return 1 / (history[-1].text != 'bad') and history[-1].text\n"
    )
    options = {"model": "parlai_humaneval/callable", "function": "moody.py:reply"}
    host = Host(max_batch=8, torch_threads=1)
    host.load(ModelSpec(name="moody", options=options, folder=tmp_path))
    questions = [Question(text, 0, (Utterance("human", text),)) for text in ("good", "bad", "fine")]
    answers = host.answer("moody", questions)
    assert [answer.text for answer in answers if isinstance(answer, Said)] == ["good", "fine"]
    assert "division by zero" in str(answers[1])
