"""Two models that answer in Chinese, in the place of the trained ones of the Chinese study."""

from __future__ import annotations

from parlai_humaneval import Turn

TEA = (
    "我也喜欢喝茶，尤其是绿茶。你平时喝什么？",
    "听起来不错！你是在哪里学会的？",
    "我周末常去爬山，你去过黄山吗？",
    "那真有意思，再多说一点吧。",
)
RAIN = (
    "下雨天我一般在家看书。",
    "我不太明白你的意思，能再说一遍吗？",
    "是啊，最近天气变化很大。",
    "我家楼下新开了一家面馆。",
)


def of_tea(history: list[Turn]) -> str:
    """Asks back."""
    return TEA[len(history) // 2 % len(TEA)]


def of_rain(history: list[Turn]) -> str:
    """Tells of itself."""
    return RAIN[len(history) // 2 % len(RAIN)]
