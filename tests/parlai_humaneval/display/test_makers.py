"""A model's maker is hidden where a reply is about its speaker, in every language, and stays in ordinary talk."""

from __future__ import annotations

import pytest

from parlai_humaneval.display.masking import giveaways, masked_text

NAMES = ("eliza", "tiny_bot")

OF_THE_SPEAKER = [
    ("我是通义，阿里的AI", "阿里"),
    ("我是通义，阿里巴巴旗下的大模型。", "阿里巴巴"),
    ("你好，我是文心，百度家的AI。", "百度"),
    ("我是来自腾讯的智能助手。", "腾讯"),
    ("我叫豆包，字节跳动出品。", "字节跳动"),
    ("我是智谱训练的模型。", "智谱"),
    ("我是一个由MiniMax开发的助手", "MiniMax"),
    ("我属于华为。", "华为"),
    ("我背后的公司是月之暗面。", "月之暗面"),
    ("我是阶跃星辰的语言模型", "阶跃星辰"),
    ("开发我的是百度。", "百度"),
    ("我的开发者是阿里。", "阿里"),
    ("我的爸爸是腾讯公司", "腾讯"),
    ("I'm Qwen, Alibaba's AI.", "Alibaba"),
    ("I'm Claude, an AI from Anthropic.", "Anthropic"),
    ("I am Google's assistant.", "Google"),
    ("I'm an Amazon chatbot.", "Amazon"),
    ("I belong to Microsoft.", "Microsoft"),
    ("My maker is Meta.", "Meta"),
    ("The people at Google made me.", "Google"),
    ("I am powered by Amazon.", "Amazon"),
    ("I'm a product of Baidu.", "Baidu"),
    ("My developers are at Mistral.", "Mistral"),
    ("I'm one of Samsung's language models.", "Samsung"),
    ("I was trained by Nvidia.", "Nvidia"),
    ("I'm a bot built at Apple.", "Apple"),
    ("I was developed by LG AI Research.", "LG AI Research"),
    ("I am made by the Technology Innovation Institute.", "Technology Innovation Institute"),
    ("My creators are at Upstage.", "Upstage"),
    ("I'm Solar, made by Upstage", "Upstage"),
    ("I'm Kakao's AI", "Kakao"),
    ("Я ассистент от Яндекса.", "Яндекса"),
    ("Я Алиса, нейросеть Яндекса.", "Яндекса"),
    ("Я — разработка Сбера.", "Сбера"),
    ("Меня создал Сбер.", "Сбер"),
    ("Мой создатель — Яндекс.", "Яндекс"),
    ("Я модель от Т-Банка.", "Т-Банка"),
    ("私はカラクリが開発したAIです。", "カラクリ"),
    ("私は楽天のAIです。", "楽天"),
    ("私の開発元はサイバーエージェントです。", "サイバーエージェント"),
    ("ソフトバンク製のAIアシスタントです。", "ソフトバンク"),
    ("私はNTTのtsuzumiです。", "NTT"),
    ("저는 네이버의 AI예요.", "네이버"),
    ("저는 카카오에서 만든 챗봇입니다.", "카카오"),
    ("저를 만든 곳은 네이버예요.", "네이버"),
    ("저는 업스테이지의 언어 모델이에요.", "업스테이지"),
    ("저는 LG의 인공지능 엑사원입니다.", "LG"),
    ("Ich bin Claude, die KI von Google.", "Google"),
    ("Ich bin Googles KI.", "Google"),
    ("Mein Entwickler ist Aleph Alpha.", "Aleph Alpha"),
    ("Ich gehöre Microsoft.", "Microsoft"),
    ("Ich bin ein Sprachmodell von Alibaba.", "Alibaba"),
    ("Je suis l'IA de Google.", "Google"),
    ("Je suis Le Chat, l'assistant de Mistral.", "Mistral"),
    ("Mon créateur est Meta.", "Meta"),
    ("J'appartiens à Microsoft.", "Microsoft"),
    ("Soy la IA de Google.", "Google"),
    ("Mi creador es Meta.", "Meta"),
    ("Soy Qwen, de Alibaba.", "Alibaba"),
    ("Pertenezco a Microsoft.", "Microsoft"),
    ("Sono l'IA di Google.", "Google"),
    ("Il mio creatore è Meta.", "Meta"),
    ("Sono Qwen, di Alibaba.", "Alibaba"),
    ("Eu sou a IA do Google.", "Google"),
    ("Meu criador é a Meta.", "Meta"),
    ("Sou o Qwen, da Alibaba.", "Alibaba"),
    ("Ben Google'ın yapay zekasıyım.", "Google"),
    ("Beni Trendyol geliştirdi.", "Trendyol"),
    ("Geliştiricim Google.", "Google"),
]

ORDINARY = [
    "I bought it on Amazon.",
    "Just google it.",
    "A meta-analysis of the trials.",
    "Gemini is my star sign.",
    "Claude Monet painted lilies.",
    "I work for Google as an engineer.",
    "I'm a Google engineer.",
    "My company is Microsoft.",
    "I am a fan of Apple products.",
    "I came to Amazon from IBM.",
    "I use Google's AI at work.",
    "I'm using Microsoft's chatbot for homework.",
    "My maker's mark is on the pot.",
    "I was hired by Google last year.",
    "I belong to a gym near Apple.",
    "My phone is powered by Google.",
    "I'm the assistant of a manager at Amazon.",
    "The people at Google are nice.",
    "I live near the Samsung building.",
    "My developers at work like Amazon.",
    "我在阿里工作。",
    "我用过阿里的AI。",
    "我是百度的工程师。",
    "我是腾讯的员工",
    "我喜欢用百度搜索",
    "我在字节跳动的AI团队工作",
    "我爸爸在腾讯上班",
    "我是阿里的用户",
    "我去阿里旅行过",
    "豆包子很好吃",
    "我是华为手机的粉丝。",
    "Ich arbeite bei Google.",
    "Ich bin bei Microsoft Entwickler.",
    "Ich bin Fan von Apple.",
    "Mein Chef ist bei SAP.",
    "Je travaille chez Google.",
    "Je suis fan de Google.",
    "Soy ingeniero de Google.",
    "Sono un fan di Apple.",
    "Eu sou fã do Google.",
    "Я работаю в Яндексе.",
    "Я еду на Яндекс такси.",
    "Я клиент Сбера.",
    "Google'da çalışıyorum.",
    "私はグーグルで働いています。",
    "私は楽天の会員です。",
    "私は楽天のファンです。",
    "저는 네이버에서 일해요.",
    "저는 카카오톡을 써요.",
    "저는 네이버 직원이에요.",
    "Solar panels are great, I'm Kakao-free.",
]


def shown(text: str) -> str:
    return masked_text(text, giveaways(text, NAMES))


@pytest.mark.parametrize(("text", "maker"), OF_THE_SPEAKER)
def test_the_maker_of_the_speaker_is_hidden(text: str, maker: str) -> None:
    """Guards blindness against makers that are named as owner, father or home, and not only as who trained the model."""
    assert maker not in shown(text)


@pytest.mark.parametrize("text", ORDINARY)
def test_makers_in_ordinary_talk_stay(text: str) -> None:
    """Guards what people say of companies that they work for, buy from or are fans of."""
    assert shown(text) == text


def test_beside_the_speakers_own_name_any_maker_is_hidden_and_in_another_sentence_it_stays() -> None:
    """Guards apposition, which has no verb that a phrase could hold."""
    assert (
        shown("I'm Qwen, Alibaba's pride. I ordered it on Amazon.")
        == "I'm [name], [maker]'s pride. I ordered it on Amazon."
    )
