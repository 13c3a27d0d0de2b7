"""Notices in a chat that a person corrects an answer; it waits for somebody to confirm it."""

import re

from letopis.experience.desk import Desk
from letopis.experience.suggest import ANSWER, Suggestion
from letopis.model import secrets
from letopis.model.messages import Message
from letopis.model.text import content_stems, one_line, shorten
from letopis.model.transcript import Transcript

_CORRECTS = re.compile(
    r"(?i)^\W*(?:"
    r"(?:нет[,.! ]+)?(?:это |вс[её] )?(?:не так|не верно|неверно|неправда|неправильно|не правильно)"
    r"|(?:нет[,.! ]+)?(?:вы|ты) (?:ошиб\w+|не прав\w*)|(?:это )?ошибка"
    r"|(?:no[,.! ]+)?(?:that(?:'s| is)|this is|it(?:'s| is)) (?:wrong|incorrect|not (?:right|true|correct|so))"
    r"|(?:no[,.! ]+)?you(?:'re| are) (?:wrong|mistaken)|wrong"
    r")\s*[,.:;!—–-]+\s*(?P<right>\S.*)",
    re.DOTALL,
)
_OTHER_FIGURE = re.compile(r"(?i)^(?:нет|no)\s*[,.:;!—–-]+\s*(?P<right>\S.*\d.*)", re.DOTALL)
_LONGEST = 2_000


def notice(desk: Desk, transcript: Transcript, n: int) -> str:
    """Keep message `n` as a failure to confirm if it corrects the answer before it; its id, or an empty text."""
    before = [m for m in transcript.standing(upto=n - 1) if m.spoken and m.text.strip()]
    if len(before) < 2 or before[-1].role != "assistant":
        return ""
    right = correction(transcript.message(n), before[-1].text)
    if not right:
        return ""
    question = next((m for m in reversed(before[:-1]) if m.role == "user"), None)
    if question is None or any(secrets.holds_secret(m.text) for m in (question, before[-1])):
        return ""
    wrong = shorten(before[-1].text.strip(), _LONGEST)
    found = Suggestion(shorten(one_line(question.text), _LONGEST), wrong, ANSWER, 0.0, "corrected in a chat")
    return desk.keep(found, source=f"{transcript.session_id}#{n}", proposed=right).id


def correction(message: Message | None, answer: str) -> str:
    """What a message says instead of the answer before it; empty where it corrects nothing.

    A bare "no" corrects only where a figure of the same thing follows.
    """
    if message is None or message.role != "user":
        return ""
    text = message.text[:_LONGEST]
    match = _CORRECTS.match(text)
    if match is None and (match := _OTHER_FIGURE.match(text)) is not None:
        shared = set(content_stems(match["right"])) & set(content_stems(answer))
        match = match if any(not stem.isdigit() for stem in shared) else None
    right = match["right"].strip() if match else ""
    if not content_stems(right) or right.endswith("?") or secrets.holds_secret(right):
        return ""
    return right
