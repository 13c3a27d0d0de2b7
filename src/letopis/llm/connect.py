"""Chooses the models that the settings name; nothing heavy is imported before a first call."""

from dataclasses import dataclass

from letopis.llm.openai_client import OpenAIModel
from letopis.llm.port import ChatModel
from letopis.settings import Settings


@dataclass(frozen=True, slots=True)
class Models:
    """The model that answers, and the one for housekeeping. Both are None without a model."""

    chat: ChatModel | None
    background: ChatModel | None


def connect(settings: Settings) -> Models:
    """The models of these settings."""
    if not settings.model.name:
        return Models(None, None)
    chat = OpenAIModel(settings.model, settings.model.name)
    if settings.model.background in ("", settings.model.name):
        return Models(chat, chat)
    return Models(chat, OpenAIModel(settings.model, settings.model.background))
