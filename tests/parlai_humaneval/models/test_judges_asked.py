"""A judge is asked: over HTTP, many at once, within a budget; what it says is kept, whatever it is."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from chat_pool import AGENT, KEY
from faulty_server import FaultyServer, answers, completion
from make_judgements import make_pair
from make_live_records import make_choice
from PIL import Image

from parlai_humaneval.display.images import ImageStore
from parlai_humaneval.judges.config import Budget, JudgeError, JudgeSpec, about, at_most, estimate, load_judge
from parlai_humaneval.judges.questions import CannotJudge, questions_of
from parlai_humaneval.judges.run import MOST_FAILURES, Ran, ask_judge, check_format, once
from parlai_humaneval.models.model_pool import ModelPool
from parlai_humaneval.models.zoo.entries import ZooError
from parlai_humaneval.schema.judge_answers import JudgeAnswer
from parlai_humaneval.schema.records import Rated

PICKS = [["a"], ["b"], ["a"], ["b"]]
PRICE = "price_per_1k: {prompt: 1.0, completion: 10.0}\n"


@pytest.fixture
def served(server: FaultyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> JudgeSpec:
    """A judge behind the server, with prices."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    options = {"model": AGENT, "base_url": server.base_url, "served_model": "asked", "request_retries": 0}
    return spec_of(tmp_path, options, f"{PRICE}max_reply_tokens: 20\n")


def spec_of(folder: Path, options: dict[str, Any], more: str = "") -> JudgeSpec:
    file = folder / "judge.yaml"
    file.write_text(f"name: j\nmodel: {json.dumps({'options': options})}\n{more}")
    return load_judge(file)


def function(folder: Path, body: str, more: str = "") -> JudgeSpec:
    (folder / "own.py").write_text(body)
    agent = "parlai_humaneval.agents.callable:CallableAgent"
    return spec_of(folder, {"model": agent, "function": "own.py:reply"}, more)


def run(
    spec: JudgeSpec, records: list[Rated] | None = None, most: float | None = None
) -> tuple[Ran, list[JudgeAnswer]]:
    kept: list[JudgeAnswer] = []
    questions = questions_of(records or [make_choice("d1", PICKS, setting="soba")], both_orders=spec.both_orders)
    with ModelPool([once(spec.model)]) as pool:
        return ask_judge(pool, spec, questions, keep=kept.append, budget=Budget(most, spec)), kept


@pytest.mark.parametrize("sees", [True, False])
def test_a_judge_that_sees_gets_pictures_and_any_other_their_descriptions(tmp_path: Path, sees: bool) -> None:
    """Guards what a judge is told of a picture, in the place where it was, and that its answer says if it saw none."""
    png = BytesIO()
    Image.new("RGB", (8, 6), "red").save(png, "PNG")
    store = ImageStore(tmp_path / "images")
    picture = store.keep(store.take(png.getvalue()).digest, "A red wall")
    assert picture is not None
    record = make_choice("d1", PICKS, setting="soba")
    record.turns[0].human_images = [picture]
    heard = "import json\n\ndef reply(history):\n    last = history[-1]\n"
    kept = "    open('heard.jsonl', 'a').write(json.dumps([last.text, list(last.images)]) + '\\n')\n    return '{}'\n"
    kept = kept.replace("heard.jsonl", str(tmp_path / "heard.jsonl"))
    (tmp_path / "own.py").write_text(heard + kept)
    agent = "parlai_humaneval.agents.callable:CallableAgent"
    spec = spec_of(tmp_path, {"model": agent, "function": "own.py:reply", **({"images": True} if sees else {})})
    answers_of: list[JudgeAnswer] = []
    with ModelPool([once(spec.model)]) as pool:
        budget = Budget(None, spec)
        ask_judge(pool, spec, questions_of([record]), keep=answers_of.append, budget=budget, images=store)
    asked = [json.loads(line) for line in (tmp_path / "heard.jsonl").read_text().splitlines()]
    assert all("[image: A red wall]" in text for text, _ in asked if "could not be read" not in text)
    seen = {len(images) for text, images in asked if "could not be read" not in text}
    assert seen == ({1} if sees else {0})
    assert {answer.images_described for answer in answers_of} == ({0} if sees else {1})
    (tmp_path / "images" / f"{picture.digest}.jpg").unlink()
    with ModelPool([once(spec.model)]) as pool:
        ask_judge(pool, spec, questions_of([record]), keep=answers_of.append, budget=budget, images=store)
    assert answers_of[-1].images_described == 1, "a picture whose file is gone was not seen"


def says(text: str) -> Any:
    return answers(completion(text))


def test_a_server_is_asked_as_many_at_once_as_it_takes(server: FaultyServer, served: JudgeSpec) -> None:
    """Guards speed, and what is kept of each answer: prompt, reply, tokens, cost, served name, seed."""
    server.otherwise = server.waits_for(4)
    ran, kept = run(served)
    assert server.most_at_once >= 4
    assert (ran.left, ran.stopped, ran.outcomes) == (0, None, {"unparsable": 8})
    server.otherwise = says('{"answer": "A"}')
    ran, kept = run(served)
    assert (ran.kept, ran.reminded) == (8, 0)
    for answer in kept:
        assert (answer.prompt_tokens, answer.completion_tokens, answer.estimated) == (100, 20, False)
        assert answer.cost == pytest.approx(0.3)
        assert (answer.served_model, answer.rater_kind, answer.currency) == ("served-1", "judge", "USD")
        assert answer.replies == ['{"answer": "A"}']
        assert answer.answers[0].selected == [answer.shown[0]]
    assert len({answer.seed for answer in kept}) == 8
    assert all(body["max_tokens"] == 20 for body in server.requests)


def test_one_who_answers_prose_is_reminded_once_and_kept_as_he_is(server: FaultyServer, served: JudgeSpec) -> None:
    """Guards nothing lost and nothing guessed: refusals and prose are kept, counted, and paid for."""
    server.plan.extend([says("It depends."), says('{"answer": "B"}')] * 1)
    server.otherwise = says("I'm sorry, I can't.")
    one = [make_choice("d1", [["a"]], setting="soba")]
    ran, kept = run(served.model_copy(update={"both_orders": False}), one)
    (answer,) = kept
    assert (answer.outcome, answer.reminded, answer.replies) == ("answered", True, ["It depends.", '{"answer": "B"}'])
    assert answer.cost == pytest.approx(0.6)
    assert [message["role"] for message in server.requests[1]["messages"]] == ["user", "assistant", "user"]
    assert "could not be read" in server.requests[1]["messages"][2]["content"]
    ran, kept = run(served, one)
    assert (ran.outcomes, ran.reminded) == ({"refused": 2}, 2)
    assert [len(answer.replies) for answer in kept] == [2, 2]
    server.otherwise = answers(completion(""))
    ran, kept = run(served, one)
    assert ran.outcomes == {"refused": 2}
    assert not any(answer.reminded for answer in kept)


def test_a_judge_that_thinks_is_read_behind_its_thoughts(server: FaultyServer, served: JudgeSpec) -> None:
    """Guards answers against those that a judge weighs before it decides, and its thoughts for who reads the file."""
    one = [make_choice("d1", [["a"]], setting="soba")]
    spec = served.model_copy(update={"both_orders": False})
    thought = '<think>Is it {"answer": "A"}?</think>{"answer": "B"}'
    apart = {"index": 0, "message": {"content": '{"answer": "B"}', "reasoning": "A or B?"}, "finish_reason": "stop"}
    server.plan.extend([says(thought), answers(completion(choices=[apart]))])
    for replies, thoughts in (([thought], []), (['{"answer": "B"}'], ["A or B?"])):
        (answer,) = run(spec, one)[1]
        assert (answer.outcome, answer.replies, answer.thoughts) == ("answered", replies, thoughts)
        assert answer.answers[0].selected == [answer.shown[1]]
    server.plan.append(says("<think>I'm sorry, but which"))
    assert run(spec, one)[0].outcomes == {"unparsable": 1}, "it was cut, and refused nothing"


def test_a_budget_is_never_exceeded(server: FaultyServer, served: JudgeSpec) -> None:
    """Guards money: what is under way counts as dear as it may become; what does not fit is left and said."""
    server.otherwise = says('{"answer": "A"}')
    questions = questions_of([make_choice("d1", PICKS, setting="soba")])
    dear = at_most(questions[0], served).cost(served.price)
    assert dear is not None
    ran, kept = run(served, most=dear * 1.2)
    assert ran.stopped == "budget"
    assert ran.spent == pytest.approx(0.3 * len(kept))
    assert ran.spent <= dear * 1.2
    assert 0 < len(kept) < 8
    assert ran.left == 8 - len(kept)
    ran, kept = run(served, most=dear * 0.9)
    assert (ran.kept, ran.left, ran.needed) == (0, 8, dear)
    expected = estimate(questions, served)
    assert expected.questions == expected.requests == 8
    assert expected.cost == pytest.approx(sum(about(one, served).cost(served.price) or 0 for one in questions))
    assert expected.cost is not None
    assert expected.cost_at_most is not None
    assert expected.cost < expected.cost_at_most


def test_a_model_that_is_gone_is_given_up_and_what_it_said_kept(server: FaultyServer, served: JudgeSpec) -> None:
    """Guards against a thousand requests with a wrong key; answers before it are kept, and the reason is told."""
    alone = served.model.model_copy(update={"options": {**served.model.options, "concurrency": 1}})
    server.plan.extend([says('{"answer": "A"}')] * 2)
    server.otherwise = answers({"error": {"message": "this key does not exist"}}, status=401)
    ran, kept = run(served.model_copy(update={"model": alone}))
    assert (ran.stopped, len(kept), ran.failed) == ("failed", 2, MOST_FAILURES)
    assert ran.left == 6
    assert "401" in ran.failures[0]
    assert len(server.requests) == 2 + MOST_FAILURES


def test_one_question_that_gets_no_reply_does_not_end_the_rest(tmp_path: Path) -> None:
    """Guards against a server's filter, or a bug that few texts meet; tokens of a function are estimated."""
    body = (
        "def reply(history):\n    if 'message 2' in history[0].text and 'message 3' not in history[0].text:\n"
        "        raise ValueError('too long')\n    return 'A'\n"
    )
    ran, kept = run(function(tmp_path, body, PRICE))
    assert (ran.kept, ran.failed, ran.left, ran.stopped) == (6, 2, 2, None)
    assert "too long" in ran.failures[0]
    assert all(answer.estimated and answer.cost for answer in kept)


def test_scores_choose_the_highest_and_know_no_order(tmp_path: Path) -> None:
    """Guards reward models: each candidate is scored with the conversation, once; equal scores choose nothing."""
    body = "def reply(history):\n    assert history[-1].speaker == 'bot'\n    return str(len(history[-1].text))\n"
    spec = function(tmp_path, body, "answer_format: score\n")
    records: list[Rated] = [make_choice("d1", [["a"]], models=("a", "longest"), setting="soba")]
    _, (answer,) = run(spec, records)
    assert (answer.order, answer.outcome, answer.answers[0].selected) == (1, "answered", ["c1-longest"])
    assert len(answer.prompts) == len(answer.replies) == 2
    _, (equal,) = run(spec, [make_choice("d1", [["a"]], setting="soba")])
    assert (equal.outcome, equal.replies) == ("unparsable", ["10", "10"])
    _, (pair,) = run(spec, [make_pair("j1", "a", "b", "first")])
    assert pair.outcome == "unparsable"  # both end with the same line
    with pytest.raises(CannotJudge, match="use answer_format: json"):
        check_format(questions_of([make_choice("d1", [["a"]], setting="sata_random")]), spec)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name: j\n", "model is missing"),
        ("name: j\nmodel: eliza\npromt: x\n", "this key does not exist. Did you mean prompt?"),
        ("name: 'a b'\nmodel: eliza\n", "name: "),
        ("name: j\nmodel: eliza\nprompt: Hello {question}\n", "it has no {conversation}, {choices}, {answer_format}"),
        ("name: j\nmodel: eliza\nprompt_file: none.txt\n", "none.txt: cannot be read"),
        ("name: j\nmodel: eliza\nprice_per_1k: {prompt: -1, completion: 1}\n", "price_per_1k.prompt"),
        ("name: j\nmodel: {options: {}}\n", "expected `model`"),
        ("name: j\nmodel: {optiones: {}}\n", "model.options"),
        ("- a\n", "contains no judge"),
        ("name: [\n", "not YAML"),
    ],
)
def test_a_judge_that_is_written_down_wrong_is_told_so(tmp_path: Path, text: str, said: str) -> None:
    """Guards the first minutes: file, key and what was expected."""
    file = tmp_path / "judge.yaml"
    file.write_text(text)
    with pytest.raises(JudgeError) as error:
        load_judge(file)
    assert said in str(error.value)
    assert "judge.yaml" in str(error.value)


def test_a_judge_is_known_by_what_shapes_its_answers(tmp_path: Path) -> None:
    """Guards mixed answers: prompt, model and seed make another version; address, price and family do not; no keys."""
    agent = {"model": AGENT, "served_model": "m", "base_url": "http://a/v1"}
    version = spec_of(tmp_path, agent).version
    assert spec_of(tmp_path, {**agent, "base_url": "http://b/v1", "concurrency": 3}, PRICE).version == version
    assert spec_of(tmp_path, agent, "family: [a, b]\n").version == version
    for other in ("seed: 1\n", "answer_format: letter\n", "version: 2\n", "max_reply_tokens: 5\n"):
        assert spec_of(tmp_path, agent, other).version != version
    priced = spec_of(tmp_path, {**agent, "price_prompt": 150, "price_completion": 600})
    assert priced.price is not None
    assert priced.price.cost(1000, 1000) == pytest.approx(0.75)
    with pytest.raises(ZooError, match="api_key"):
        spec_of(tmp_path, {**agent, "api_key": "sk-very-secret-0123456789"})
    named = tmp_path / "named.yaml"
    named.write_text("name: j\nmodel: no_such_model\n")
    with pytest.raises(ZooError, match="no_such_model"):
        load_judge(named)
