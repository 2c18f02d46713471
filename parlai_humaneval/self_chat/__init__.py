"""Models that talk to themselves or to each other, many dialogues at once, without a person."""

from parlai_humaneval.self_chat.files import GeneratedFile
from parlai_humaneval.self_chat.generate import GenerationProgress, generate
from parlai_humaneval.self_chat.settings import SelfChatError, SelfChatSettings, pairs_of

__all__ = ["GeneratedFile", "GenerationProgress", "SelfChatError", "SelfChatSettings", "generate", "pairs_of"]
