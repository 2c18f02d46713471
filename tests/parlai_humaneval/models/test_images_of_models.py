"""Pictures to and from models: chat completions, the JSON contract, functions; kept, heard again, and told apart."""

from __future__ import annotations

import base64
import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from chat_pool import MakePool
from faulty_server import FaultyServer, answers, completion, piece, streams
from PIL import Image
from tiny_hugging_face import folder_of
from tiny_vision import make_vision_model

from parlai_humaneval.display.images import ELSEWHERE, PICTURE_ALONE, ImageStore, SeenImage
from parlai_humaneval.models.backends.base import Heard, from_answer, to_question
from parlai_humaneval.models.backends.callable import OwnFunction
from parlai_humaneval.models.bot_speaker.bot_speaker import BotSpeakerAgent
from parlai_humaneval.models.model_pool import ModelPool
from parlai_humaneval.models.zoo.entries import ModelSpec, ZooError, load_zoo, resolve


def data_url(color: str = "teal") -> str:
    file = BytesIO()
    Image.new("RGB", (20, 10), color).save(file, "PNG")
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


def hear(speaker: BotSpeakerAgent, text: str, *images: SeenImage) -> list[dict[str, Any]]:
    speaker.observe({"text": text, "episode_done": False, **({"images": images} if images else {})})
    return list(speaker.act()["candidates"])


def last_content(server: FaultyServer) -> Any:
    return server.requests[-1]["messages"][-1]["content"]


SENT = SeenImage(data_url("red"), "a red field")


def test_a_persons_picture_is_a_content_part_and_stays_in_the_history(server: FaultyServer, chat: MakePool) -> None:
    speaker = chat(images=True).speaker(["m"])
    hear(speaker, "What is this?", SENT)
    parts = [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": SENT.url}}]
    assert last_content(server) == parts
    hear(speaker, "And now?")
    roles = [(message["role"], message["content"]) for message in server.requests[-1]["messages"]]
    assert roles == [("user", parts), ("assistant", "Fine."), ("user", "And now?")]


def test_a_model_that_takes_no_pictures_is_sent_none_and_its_own_are_not_taken(
    server: FaultyServer, chat: MakePool, tmp_path: Path
) -> None:
    message = {"role": "assistant", "content": "Look!", "images": [{"image_url": {"url": data_url()}}]}
    server.otherwise = answers(completion(choices=[{"index": 0, "message": message, "finish_reason": "stop"}]))
    (candidate,) = hear(chat().speaker(["m"], images=ImageStore(tmp_path)), "What is this?", SENT)
    assert last_content(server) == "What is this?"
    assert (candidate["images"], candidate["images_left_out"]) == ([], [])


@pytest.mark.parametrize("alone", [False, True])
def test_pictures_of_an_answer_are_kept_and_addresses_are_left_out(
    server: FaultyServer, chat: MakePool, tmp_path: Path, alone: bool
) -> None:
    content = [
        *([] if alone else [{"type": "text", "text": "Look!"}]),
        {"type": "image_url", "image_url": {"url": data_url()}, "alt": "teal, by GPT-4"},
        {"type": "image_url", "image_url": {"url": "https://elsewhere.example/a.png"}},
    ]
    message = {"role": "assistant", "content": content}
    server.otherwise = answers(completion(choices=[{"index": 0, "message": message, "finish_reason": "stop"}]))
    store = ImageStore(tmp_path / "images")
    speaker = chat(images=True).speaker(["m"], images=store)
    (candidate,) = hear(speaker, "Draw!")
    assert candidate["text"] == (PICTURE_ALONE if alone else "Look!")
    (image,) = candidate["images"]
    assert (image["width"], image["height"], image["alt"]) == (20, 10, "teal, by [name]")  # masked, as a text is
    assert candidate["images_left_out"] == [ELSEWHERE]
    assert [path.stem for path in store.folder.iterdir()] == [image["digest"]]
    hear(speaker, "Thanks.")
    told = server.requests[-1]["messages"][1]
    assert told == {"role": "assistant", "content": f"{candidate['text']}\n[teal, by [name]]"}


def test_pictures_in_a_stream_are_gathered(server: FaultyServer, chat: MakePool, tmp_path: Path) -> None:
    delta = {"content": None, "images": [{"type": "image_url", "image_url": {"url": data_url()}}]}
    with_picture = {**piece(), "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    server.otherwise = streams(piece("Lo"), with_picture, piece("ok!"), piece(None, "stop"))
    (candidate,) = hear(chat(images=True, stream=True).speaker(["m"], images=ImageStore(tmp_path)), "Draw!")
    assert (candidate["text"], len(candidate["images"])) == ("Look!", 1)


def test_the_contract_carries_pictures_both_ways() -> None:
    heard = Heard((("human", "Look"), ("bot", "Hm"), ("human", "Well?")), (), (), 0, images={-3: (SENT,)})
    question = json.loads(to_question(heard))
    assert question["history"][0] == {"speaker": "human", "text": "Look", "images": [SENT.url]}
    assert "images" not in question["history"][1]
    said = from_answer(json.dumps({"text": "Here.", "images": [data_url(), {"url": data_url(), "alt": "b"}]}).encode())
    assert (said.text, [image.alt for image in said.images]) == ("Here.", ["", "b"])
    assert from_answer(b'{"text": "a", "images": "no list"}').images == ()


def test_a_function_gets_and_gives_pictures() -> None:
    seen: list[Any] = []

    def reply(history: list[Any]) -> Any:
        seen.extend(turn.images for turn in history)
        return {"text": "Here.", "images": [data_url()]}

    said = OwnFunction("reply", reply)(Heard((("human", "Look"),), (), (), 0, images={-1: (SENT,)}))
    assert (seen, said.text, said.images) == ([(SENT.url,)], "Here.", (SeenImage(data_url()),))


def test_equal_texts_with_other_pictures_are_two_cards_and_recalled_replies_have_theirs(tmp_path: Path) -> None:
    (tmp_path / "draws.py").write_text(
        f"def red(history): return {{'text': 'Here.', 'images': ['{data_url('red')}']}}\n"
        f"def blue(history): return {{'text': 'Here.', 'images': ['{data_url('blue')}']}}\n"
    )
    agent = "parlai_humaneval.agents.callable:CallableAgent"
    specs = [
        ModelSpec(name=name, options={"model": agent, "function": f"draws.py:{name}", "images": True}, folder=tmp_path)
        for name in ("red", "blue")
    ]
    store = ImageStore(tmp_path / "images")
    with ModelPool(specs) as pool:
        speaker = pool.speaker(["red", "blue"], images=store)
        candidates = hear(speaker, "Draw!")
        assert {candidate["same_as"] for candidate in candidates} == {None}
        assert len({candidate["images"][0]["digest"] for candidate in candidates}) == 2
        speaker.accept(candidates[0]["candidate_id"])
        assert len(speaker._dialogue[-1].extra["images"]) == 1


def test_an_agent_that_knows_no_pictures_says_so() -> None:
    spec = ModelSpec(name="m", options={"model": "parlai_humaneval/eliza", "images": True})
    with pytest.raises(ZooError, match="no option called images"):
        ModelPool([spec]).load()


def test_the_examples_models_see_and_draw(tmp_path: Path) -> None:
    zoo = load_zoo(more=[str(Path(__file__).parents[3] / "examples/images/zoo.yaml")])
    with ModelPool(resolve(["drawing", "counting"], zoo)) as pool:
        drawn, counted = hear(
            pool.speaker(["drawing", "counting"], images=ImageStore(tmp_path), order="fixed"), "Hi", SENT
        )
    assert [image["alt"] for image in drawn["images"]] == ["A golden sun in a blue sky"]
    assert counted["text"] == "I have seen 1 picture(s). The last one has 20 × 10 pixels."


def test_a_local_vision_model_reads_pictures_by_its_processor(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    options = {"model": "parlai_humaneval/vision_lm", "hf_model": str(make_vision_model(tmp_path)), "max_new_tokens": 8}

    def replies(*images: SeenImage, **more: Any) -> list[str]:
        spec = ModelSpec(name="m", options={**options, "no_cuda": True, "images": True, **more})
        with ModelPool([spec]) as pool:
            speaker = pool.speaker(["m"])
            first = hear(speaker, "what is this?", *images)[0]["text"]
            return [first, hear(speaker, "and now?")[0]["text"]]

    blind = replies()
    seen = replies(SENT)
    assert seen == replies(SENT), "greedy replies are the same"
    assert seen[0] != blind[0] != "", "the picture changes what is said"
    assert replies(SENT, images=False) == blind
    assert replies(SENT, temperature=1.0) == replies(SENT, temperature=1.0)


def test_a_model_without_a_processor_for_pictures_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    spec = ModelSpec(name="m", options={"model": "parlai_humaneval/vision_lm", "hf_model": str(folder_of("gpt2"))})
    with pytest.raises(ZooError, match="no processor for pictures"):
        ModelPool([spec]).load()
