"""Microgoals of one conversation: what the user is trying to get done now.

Opened, advanced, done or dropped, by what is said or by a tool. The newest line of an id holds.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from letopis.model import secrets
from letopis.model.messages import Message
from letopis.model.text import content_stems, negated, one_line, overlap, shorten, words

STATES = ("open", "advanced", "done", "dropped")
LONGEST = 160
_FEWEST, _MOST_WORDS = 2, 25
_LOOKED_AT = 2_000
_SAME = 0.6
_OPENS = re.compile(
    r"(?i)^(?:so|well|ok(?:ay)?|and|also|then|итак|так|ну|хорошо|а|и|ещё|еще|потом|привет|hi|hello)?[,.! ]*"
    r"(?:(?:my |our |the )?(?:goal|task)(?: is)?\s*[:—-]?\s*(?:to )?"
    r"|(?:i|we)(?:'d like| would like|(?: also)?(?: need| want| have)"
    r"|(?:'m|'re| am| are) (?:planning|trying|going)) to "
    r"|(?:please |could you )?help (?:me|us) (?:to |with )?|let'?s "
    r"|(?:моя |наша )?(?:цель|задача)\s*[:—-]\s*|(?:(?:мне|нам) (?:ещё |еще )?)?(?:нужно|надо|необходимо|требуется) "
    r"|(?:я |мы )?(?:хочу|хотим|хотел[аи]? бы|собираюсь|планирую) "
    r"|(?:пожалуйста,? )?помоги(?:те)? (?:мне |нам )?(?:с )?"
    r"|давай(?:те)? )(?P<goal>\S.*)"
)
_ASIDE = re.compile(
    r"(?i)^(?:знать|узнать|понять|спросить|запомн\w+|забы\w+|сказать|уточнить|поговори\w*|обсуди\w*|посмотр\w+"
    r"|продолж\w+|начн\w+|верн[её]м\w*|know|ask|remember|forget|say|understand|talk|discuss|see|look|continue|start|begin"
    r"|go back|move on)\b"
)
_DONE = re.compile(
    r"(?i)\b(?:готово|сделано|сделал[аи]?|законч\w+|разобрал\w+|решено|решил[аи]? (?:проблему|задачу)|получилось"
    r"|done|finished|completed|solved|that works)\b"
)
_DROPPED = re.compile(
    r"(?i)\b(?:больше не (?:нужно|надо)|уже не\b|отбой|отменя\w+|передумал[аи]?|не (?:будем|буду)\b"
    r"|never ?mind|forget (?:it|about)|gave up|giving up|drop (?:it|that|this)"
    r"|(?:do not|don't|no longer) need|cancel (?:it|that))\b"
)
_NOT_YET = re.compile(r"(?i)\b(?:не|ещё не|еще не|not|isn't|aren't|когда|when|if|если|until|пока)\b[^.!?]{0,30}$")
_ALMOST = re.compile(r"(?i)\b(?:почти|осталось|ошибк\w+|haven't|hasn't|nearly|almost|not yet|but|except|mistake)\b")
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
_PAST = dict(
    pair.split("-")
    for pair in [
        "buy-bought",
        "find-found",
        "make-made",
        "build-built",
        "write-wrote",
        "send-sent",
        "get-got",
        "sell-sold",
        "do-did",
        "take-took",
        "go-went",
        "choose-chose",
        "pay-paid",
        "meet-met",
        "read-read",
        "tell-told",
        "bring-brought",
        "teach-taught",
        "learn-learnt",
        "win-won",
        "run-ran",
    ]
)


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal: its newest state, the message that opened it and the one that changed it last."""

    id: str
    text: str
    state: str
    opened: int
    n: int

    @property
    def is_open(self) -> bool:
        """Whether it is still to be reached."""
        return self.state in ("open", "advanced")

    def record(self, session_id: str, at: str) -> dict[str, Any]:
        """The goal as its line in a transcript."""
        where = {"goal": self.text, "state": self.state, "opened": self.opened, "n": self.n}
        return {"_type": "goal", "session_id": session_id, "at": at, "id": self.id, **where}


def parse(record: Mapping[str, Any]) -> Goal | None:
    """The goal on a line, or None where it is not one."""
    id_, text, state = (record.get(name) for name in ("id", "goal", "state"))
    if not (isinstance(id_, str) and isinstance(text, str) and isinstance(state, str)) or state not in STATES:
        return None
    opened, n = (v if isinstance(v, int) else 0 for v in (record.get("opened"), record.get("n")))
    return Goal(id_, text, state, opened, n)


def new(text: str, n: int) -> Goal:
    """A goal that message `n` opens; the same text opened again is the same goal."""
    bare = shorten(one_line(secrets.redact(text)).strip(" .!,;:—-"), LONGEST)
    return Goal("g" + sha256(bare.casefold().encode("utf-8", "replace")).hexdigest()[:7], bare, "open", n, n)


def named(words: str, goals: Iterable[Goal]) -> Goal | None:
    """The one goal that an id or words mean, the nearest by words; None where none is near."""
    known = list(goals)
    exact = next((g for g in known if g.id == words.strip()), None)
    own = set(content_stems(words))
    near = max(known, key=lambda g: len(own & set(content_stems(g.text))), default=None)
    wanted = set(content_stems(near.text)) if near is not None else set()
    meant = bool(own & wanted) and (own <= wanted or 2 * len(own & wanted) > len(wanted))
    return exact or (near if meant else None)


def said(messages: Iterable[Message], known: Iterable[Goal]) -> list[Goal]:
    """The goals that change by what the user says in these messages, each as it is then."""
    standing = {goal.id: goal for goal in known}
    changed: dict[str, Goal] = {}
    for message in messages:
        if message.role != "user" or not message.spoken:
            continue
        for sentence in _SENTENCE.findall(message.text[:_LOOKED_AT]):
            goal = _changed(one_line(sentence), list(standing.values()), message.n)
            if goal is not None:
                standing[goal.id] = changed[goal.id] = goal
    return list(changed.values())


def _changed(sentence: str, known: Sequence[Goal], n: int) -> Goal | None:
    """The goal that one sentence opens, ends or moves on."""
    open_goals = [goal for goal in known if goal.is_open]
    for pattern, state in ((_DROPPED, "dropped"), (_DONE, "done")):
        match = pattern.search(sentence)
        hedged = _NOT_YET.search(sentence[: match.start()] if match else "") or _ALMOST.search(sentence)
        if match and not sentence.endswith("?") and not hedged:
            goal = _meant(sentence, match[0], open_goals)
            if goal is not None:
                return replace(goal, state=state, n=n)
    opened = _opened(sentence, n)
    if opened is not None and any(g.n >= n and is_like(g, opened) for g in known):
        return None  # a tool has noted it already, or noted that it is done
    if opened is not None:
        alike = next((g for g in open_goals if is_like(g, opened)), None)
        return replace(alike, state="advanced", n=n) if alike is not None else opened
    reached = next((g for g in open_goals if g.n != n and _reached(sentence, g.text)), None)
    if reached is not None:
        return replace(reached, state="done", n=n)
    if negated(sentence):
        return None
    spoken_of = [g for g in open_goals if g.n != n and _covers(sentence, g.text)]
    return replace(spoken_of[-1], state="advanced", n=n) if spoken_of else None


def _opened(sentence: str, n: int) -> Goal | None:
    match = _OPENS.match(sentence.strip())
    if match is None or sentence.endswith("?") or _ASIDE.match(match["goal"]):
        return None
    if not _FEWEST <= len(set(content_stems(match["goal"]))) <= _MOST_WORDS or secrets.holds_secret(sentence):
        return None
    return new(match["goal"], n)


def _meant(sentence: str, marker: str, open_goals: Sequence[Goal]) -> Goal | None:
    """The goal that a sentence ends: the one it names, or the newest where it names nothing."""
    own = set(content_stems(sentence)) - set(content_stems(marker))
    near = max(open_goals, key=lambda g: len(own & set(content_stems(g.text))), default=None)
    if near is not None and 2 * len(own & set(content_stems(near.text))) > len(set(content_stems(near.text))):
        return near
    if len(own) > 1:
        return None
    return max(open_goals, key=lambda g: g.n, default=None)


def is_like(left: Goal, right: Goal) -> bool:
    """Whether two goals are one in other words."""
    return left.id == right.id or overlap(content_stems(left.text), content_stems(right.text)) >= _SAME


def _reached(sentence: str, text: str) -> bool:
    """Whether a sentence tells as past what the goal is: its verb in the past, and what it is about."""
    if sentence.endswith("?") or negated(sentence):
        return False
    verb, *things = words(text) or [""]
    about = set(content_stems(" ".join(things)))
    if not about or not about & set(content_stems(sentence)):
        return False
    said = words(sentence)
    russian = verb[:-2] if verb.endswith(("ть", "ти", "чь")) else ""
    if russian:
        return any(
            word in (f"{russian}{end}" for end in ("л", "ла", "ло", "ли", "н", "на", "но", "ны")) for word in said
        )
    if not verb:
        return False
    past = {_PAST.get(verb, ""), f"{verb}ed", f"{verb}d", f"{verb}{verb[-1]}ed", f"{verb[:-1]}ied"}
    return any(word in past for word in said)


def _covers(sentence: str, text: str) -> bool:
    wanted = set(content_stems(text))
    return len(wanted) >= _FEWEST and len(wanted & set(content_stems(sentence))) >= max(2, -(-len(wanted) // 2))
