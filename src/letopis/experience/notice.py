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
    r"(?:нет[,.! ]+)?(?:это |вс[её] )?(?:не так|не верно|неверно|неправда|неправильно|не правильно)\b"
    r"|(?:нет[,.! ]+)?(?:вы|ты) (?:ошиба\w+|ошибл\w+|не прав\w*)|(?:это )?ошибка[,.!:]"
    r"|(?:no[,.! ]+)?(?:that(?:'s| is)|this is|it(?:'s| is)) (?:wrong|incorrect|not (?:right|true|correct|so))\b"
    r"|(?:no[,.! ]+)?you(?:'re| are) (?:wrong|mistaken)\b|wrong[,.!:]"
    r")[\s,.!:;—–-]*(?P<right>.*)",
    re.DOTALL,
)
_FEWEST, _LONGEST = 2, 2_000


def notice(desk: Desk, transcript: Transcript, n: int) -> str:
    """Keep message `n` as a failure to confirm if it corrects the answer before it; its id, or an empty text."""
    right = correction(transcript.message(n))
    before = [m for m in transcript.standing(upto=n - 1) if m.spoken and m.text.strip()]
    if not right or len(before) < 2 or before[-1].role != "assistant":
        return ""
    question = next((m for m in reversed(before[:-1]) if m.role == "user"), None)
    if question is None or any(secrets.holds_secret(m.text) for m in (question, before[-1])):
        return ""
    wrong = shorten(before[-1].text.strip(), _LONGEST)
    found = Suggestion(shorten(one_line(question.text), _LONGEST), wrong, ANSWER, 0.0, "corrected in a chat")
    return desk.keep(found, source=f"{transcript.session_id}#{n}", proposed=right).id


def correction(message: Message | None) -> str:
    """What a message says instead of the answer before it; empty where it corrects nothing."""
    match = _CORRECTS.match(message.text[:_LONGEST]) if message is not None and message.role == "user" else None
    right = match["right"].strip() if match else ""
    if len(set(content_stems(right))) < _FEWEST or right.endswith("?") or secrets.holds_secret(right):
        return ""
    return right
