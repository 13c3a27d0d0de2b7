"""What a person tells the memory in so many words: "remember that…", «больше не считай, что…».

Only a person's own sentence counts: quotes, code and pasted text are left out.
"""

import re
from dataclasses import dataclass

from letopis.model.text import content_stems, negated, one_line, words

_QUOTED = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|«[^»]*»|“[^”]*”|(?m:^\s*>.*$)", re.DOTALL)
_LEAD = r"(?:^|(?<=[.!?\n]))[ \t]*(?:(?:please|пожалуйста|ok|so|and|а|и|ну|ещё|еще|also),?\s+)?"
_REMEMBER = re.compile(
    _LEAD + r"(?:(?:please\s+)?(?:remember|memorize|note|keep in mind)(?:\s+that\b|\s*:|,)"
    r"|(?:please\s+)?remember\b(?=\s+(?:my|our|his|her|their|i|we|the)\b)(?!\s+the time)"
    r"|don'?t forget that\b|запомни(?:те)?|запиши(?:те)?(?=,? что)|имей(?:те)? в виду|не забудь(?:те)?(?=,? что)"
    r"|учти(?:те)?)"
    r"(?:\s*[,:]?\s*(?:пожалуйста|please)\b)?(?:\s*[,:]?\s*что\b)?[\s,:—-]*(?P<what>\S[^\n]*)",
    re.IGNORECASE,
)
_FORGET = re.compile(
    _LEAD + r"(?:(?:please\s+)?(?:forget\s+(?:that|about)\b|no longer (?:assume|consider|believe)(?:\s+that)?\b|"
    r"(?:it is|it's) no longer true that)|забудь(?:те)?(?:,?\s*(?:что|про|о|об)\b)|больше не считай(?:те)?"
    r"(?:,?\s*что\b)?|больше не верно,? что)[\s,:—-]*(?P<what>\S[^\n]*)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Remember:
    """The person asks to keep this statement."""

    text: str


@dataclass(frozen=True, slots=True)
class Forget:
    """The person says that this is not so, or not to be kept, any more."""

    text: str


def told(message: str) -> list[Remember | Forget]:
    """The explicit requests in a person's message, in order."""
    bare = without_quotes(message)
    found: list[tuple[int, Remember | Forget]] = []
    for kind, pattern in ((Forget, _FORGET), (Remember, _REMEMBER)):
        for match in pattern.finditer(bare):
            start, end = match.span("what")
            text = _statement(message[start:end])
            if content_stems(text) and not text.endswith("?") and text[0].isalnum() | (text[0] in '«"('):
                found.append((match.start(), kind(text)))
    return [request for _, request in sorted(found, key=lambda pair: pair[0])]


def without_quotes(text: str) -> str:
    """The text with blanks in place of quotations, code and pasted lines."""
    return _QUOTED.sub(_blank, text)


def _blank(match: re.Match[str]) -> str:
    """Blanks of the same length: a request inside a quotation is nobody's request here."""
    return re.sub(r"[^\n]", "\u2060", match[0])


_END = re.compile(r"(\w*)[.!?]+\s+(?=[A-ZА-ЯЁ«\"])")
_ABBREVIATIONS = "ул д кв г стр корп пер пр просп наб им т п р с м св st mr mrs ms dr no vs etc e i a ave rd jr sr"
_SHORT_FORMS = frozenset(_ABBREVIATIONS.split())


def _end_of_sentence(text: str) -> int:
    """Where the first sentence ends; a stop after an abbreviation or a letter ends none."""
    for match in _END.finditer(text):
        word = match[1]
        if word.casefold() not in _SHORT_FORMS and not (len(word) == 1 and word.isalpha()):
            return match.end()
    return len(text)


def _statement(text: str) -> str:
    """The told statement, up to the end of its sentence, beginning with a capital letter."""
    line = one_line(text[: _end_of_sentence(text)]).rstrip(" .!;,")
    line = line.removeprefix("«").removesuffix("»") if line.count("«") == 1 and line.startswith("«") else line
    return line[:1].upper() + line[1:]


_FUNCTIONAL = (
    r"(?:name|birthday|address|phone(?: number)?|e-?mail|age|budget|deadline|salary|time ?zone|city|home town|"
    r"version|limit|price|cost|rate|job|employer|favou?rite [\w ]+?|preferred [\w ]+?|password manager|"
    r"имя|фамили\w+|день рождения|адрес|телефон|почта|возраст|бюджет|срок|дедлайн|зарплата|часовой пояс|город|"
    r"верси\w|лимит|цена|стоимость|ставка|работа|любим\w+ \w+)"
)
_ATTRIBUTE = re.compile(
    rf"(?i)^(?P<subject>(?:[\w'’-]+\s+){{0,5}}?{_FUNCTIONAL}(?:\s+(?:of|for|на|для|у)\s+[\w'’ -]+?)?)"
    r"\s*(?:\bis\b|\bare\b|\bwill be\b|\bравен\b|\bравна\b|\bсоставляет\b|\bтеперь\b|—|–|-|:|=)+\s+(?P<value>.+)$"
)
_CALLED = re.compile(
    r"^(?P<subject>.{1,60}?)\s+(?P<verb>is called|is named|зовут|называется|lives? in(?= [A-Z][\w-]+\W*$)"
    r"|жив(?:у|[её]т) в(?= [А-ЯЁ][\w-]+\W*$))\s+(?P<value>.+)$"
)


def attribute(statement: str) -> tuple[str, str] | None:
    """What single-valued attribute a statement speaks of, and its value; None for others.

    Two statements with one attribute and different values contradict each other. Attributes
    that can have several values at once (what someone likes, owns, knows) are never taken so.
    """
    text = re.sub(r"(?i)^(?:теперь|now|currently)\s+", "", statement.strip())
    if negated(text):
        return None
    for pattern in (_CALLED, _ATTRIBUTE):
        match = pattern.match(text)
        if match:
            verb = content_stems(match["verb"]) if pattern is _CALLED else []
            subject = sorted({*content_stems(match["subject"]), *verb, *_owner(match["subject"])})
            if subject:
                return " ".join(subject), " ".join(words(match["value"]))
    return None


_OWNERS = (
    "my=i our=we your=you his=he her=she their=they its=it мой=я моя=я мое=я моё=я мои=я меня=я мою=я моего=я наш=мы "
    "наша=мы его=он ее=она её=она их=они"
)


def _owner(subject: str) -> list[str]:
    """Whose attribute it is: "my" and "her" are stop words elsewhere, not here."""
    owners = dict(pair.split("=") for pair in _OWNERS.split())
    return [f"@{owners[word]}" for word in re.findall(r"\w+", subject.casefold()) if word in owners]
