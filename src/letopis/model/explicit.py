"""What a person tells the memory in so many words: "remember that…", «больше не считай, что…».

Only a person's own sentence counts: quotes, code and pasted text are left out.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from letopis.model.text import content_stems, negated, one_line, words

_QUOTED = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|«[^»]*»|“[^”]*”|(?m:^\s*>.*$)", re.DOTALL)
_LEAD = r"(?:^|(?<=[.!?\n]))[ \t]*(?:(?:please|пожалуйста|ok|so|and|а|и|ну|ещё|еще|also),?\s+)?"
_REMEMBER = re.compile(
    _LEAD + r"(?:(?:please\s+)?(?:remember|memorize|keep in mind)(?:\s+that\b|\s*:|,)"
    r"|(?:please\s+)?remember\b(?=\s+(?:my|our|his|her|their|i|we|the)\b)(?!\s+the time)"
    r"|don'?t forget that\b|запомни(?:те)?\b|запиши(?:те)?(?=,? что)|имей(?:те)? в виду|не забудь(?:те)?(?=,? что)"
    r"|учти(?:те)?\b)"
    r"(?:\s*[,:]?\s*(?:пожалуйста|please)\b)?(?:\s*[,:]?\s*что\b)?[\s,:—-]*(?P<what>\S[^\n]*)",
    re.IGNORECASE,
)
_FORGET = re.compile(
    _LEAD + r"(?:(?:please\s+)?(?:forget\s+(?:that|about)\b|no longer (?:assume|consider|believe)(?:\s+that)?\b|"
    r"(?:it is|it's) no longer true that)|забудь(?:те)?(?:,?\s*(?:что|про|о|об)\b)|больше не считай(?:те)?\b"
    r"(?:,?\s*что\b)?|больше не верно,? что)[\s,:—-]*(?P<what>\S[^\n]*)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Remember:
    """The person asks to keep this statement; with `earlier` it was said in a message before."""

    text: str
    earlier: bool = False


@dataclass(frozen=True, slots=True)
class Forget:
    """The person says that this is not so, or not to be kept, any more."""

    text: str
    earlier: bool = False


@dataclass(frozen=True, slots=True)
class Replace:
    """The person says that something else holds now: one replacement."""

    old: str
    text: str


Request = Remember | Forget | Replace


def told(message: str, previous: str = "") -> list[Request]:
    """The explicit requests in a person's message, in order.

    "This" and «это» are the statement just before: in the message, or else `previous`.
    """
    message = _compact(message)
    bare = without_quotes(message)
    found: list[tuple[int, Request]] = _pointing(message, bare, previous)
    taken = {start for start, _ in found}
    for start, request in _exchanges(message, bare):
        found.append((start, request))
        taken.add(start)
    for kind, pattern in ((Forget, _FORGET), (Remember, _REMEMBER)):
        for match in pattern.finditer(bare):
            start, end = match.span("what")
            text = _statement(message[start:end])
            legal = content_stems(text) and not text.endswith("?") and text[0].isalnum() | (text[0] in '«"(')
            if legal and match.start() not in taken:
                found.append((match.start(), kind(text)))
    for match in _PREFER.finditer(bare):
        name = next(name for name in ("what", "en", "also") if match[name])
        text = _statement(message[match.start(name) : match.end(name)])
        if not text.endswith("?"):
            found.append((match.start(), Remember(text)))
    return [request for _, request in sorted(found, key=lambda pair: pair[0])]


_POINT_KEEP = re.compile(
    _LEAD + r"(?:(?:считай(?:те)?|запомни(?:те)?)\s+это(?:\s+(?:[\w-]+\s+){0,3}?(?:решени\w+|приоритет\w*|правил\w+"
    r"|договор\w+|важн\w+|факт\w*))?|это\s+(?:теперь\s+)?(?:наш\w*\s+)?нов\w+\s+(?:[\w-]+\s+){0,2}?"
    r"(?:приоритет|решени|правил)\w*(?:\s+[\w-]+){0,2}"
    r"|consider (?:this|that|it) (?:as )?(?:an? |our |the )?(?:[\w-]+ ){0,3}?(?:decision|priority|rule|agreement)"
    r"|this is (?:now )?(?:our|the|a|my) new (?:[\w-]+ ){0,2}?(?:priority|decision|rule)"
    r"|remember (?:this|that|it))\s*(?:[.!]|$)",
    re.IGNORECASE | re.MULTILINE,
)
_POINT_FORGET = re.compile(
    _LEAD + r"(?:эт(?:о|от|а)\s+(?:решение|договор[её]нность|правило|план|приоритет)\s+(?:больше\s+)?(?:отмен\w+"
    r"|не\s+(?:действует|актуал\w+))|это\s+(?:больше|уже)\s+не\s+(?:так|актуально|верно)|забудь(?:те)?\s+(?:об\s+)?это\w*"
    r"|(?:this|that) (?:decision|rule|plan|priority|agreement) is (?:cancell?ed|revoked|off|void)"
    r"|(?:this|that) is no longer (?:true|so|valid)|forget (?:this|that))\s*(?:[.!]|$)",
    re.IGNORECASE | re.MULTILINE,
)
_PREFER = re.compile(
    _LEAD
    + r"(?:теперь\s+(?:я\s+)?(?=(?P<what>предпочитаю\s[^\n]+))|(?:now|from now on),?\s+(?=(?P<en>I prefer\s[^\n]+))"
    r"|(?=(?P<also>I now prefer\s[^\n]+)))",
    re.IGNORECASE,
)
_WORDS = r"[^\s,.;!?]+(?: [^\s,.;!?]+){0,5}?"
_EXCHANGE = re.compile(
    _LEAD + r"(?:мы\s+|я\s+)?больше\s+не\s+(?:используем|пользуемся|применяем|работаем\s+(?:с|через|в|на)|использую"
    r"|пользуюсь)\s+(?P<old>" + _WORDS + r")[,;]?\s+(?:а\s+)?теперь\s+(?:мы\s+|я\s+)?(?P<new>\S[^\n]*)",
    re.IGNORECASE,
)
_EXCHANGE_ENGLISH = re.compile(
    _LEAD + r"(?:we|I)\s+(?:no longer use|don'?t use|stopped using)\s+(?P<old>" + _WORDS + r")(?:\s+any ?more)?[,;]\s+"
    r"(?:and\s+|but\s+)?(?:now\s+(?P<new>(?:we|I)\s\S[^\n]*)|(?P<also>(?:we|I)\s+now\s\S[^\n]*))",
    re.IGNORECASE,
)
LONGEST_LOOKED_AT = 20_000
_BLANKS, _BREAKS = re.compile(r"[^\S\n]{2,}"), re.compile(r"\s*\n\s*")
_USES = re.compile(
    r"(?i)\b(?:use|using|work\w*|run|switched|moved|rely|использу\w+|пользу\w+|работа\w+|применя\w+|перешл\w+|переш[её]л)\b"
)
_STATEMENTS = re.compile(r"[^\n.!?]+(?:[.!?](?=\S)[^\n.!?]+)*[.!?]*")


def _pointing(message: str, bare: str, previous: str) -> list[tuple[int, Request]]:
    found: list[tuple[int, Request]] = []
    for kind, pattern in ((Remember, _POINT_KEEP), (Forget, _POINT_FORGET)):
        for match in pattern.finditer(bare):
            inside = _last_statement(message[: match.start()])
            if inside or previous:
                found.append((match.start(), kind(inside or previous, earlier=not inside)))
    return found


def _compact(message: str) -> str:
    """The beginning of a message without runs of blanks, which would cost the patterns below much time."""
    return _BREAKS.sub("\n", _BLANKS.sub(" ", message[:LONGEST_LOOKED_AT]))


def points(message: str) -> bool:
    """Whether a message speaks of something said before it as "this"."""
    bare = without_quotes(_compact(message))
    return any(pattern.search(bare) for pattern in (_POINT_KEEP, _POINT_FORGET))


def meant_by_this(before: str, answer: str) -> tuple[str, bool]:
    """What "this" means after a person said `before` and was answered: the statement, and whether the answer says it.

    The person's own statement comes first, what they asked to remember above all; after a question
    it is the sentence of the answer that speaks most of what was asked.
    """
    before, answer = before[-LONGEST_LOOKED_AT:], answer[:LONGEST_LOOKED_AT]
    requests = [r for r in told(before) if isinstance(r, Remember)]
    own = requests[-1].text if requests else _last_statement(before)
    sentences = list(_statements(answer))
    if own and not (sentences and before.rstrip().endswith("?")):
        return own, False
    asked = set(content_stems(before))
    return max(sentences, key=lambda s: len(asked.intersection(content_stems(s))), default=""), True


def _last_statement(text: str) -> str:
    return next(reversed(list(_statements(text))), "")


def _statements(text: str) -> Iterator[str]:
    """The sentences of a text that say something and ask nothing, quotations aside."""
    for match in _STATEMENTS.finditer(without_quotes(text)):
        sentence = _statement(text[match.start() : match.end()].strip(" -*"))
        if content_stems(sentence) and not match[0].rstrip().endswith("?"):
            yield sentence


def _exchanges(message: str, bare: str) -> list[tuple[int, Request]]:
    found: list[tuple[int, Request]] = []
    for pattern in (_EXCHANGE, _EXCHANGE_ENGLISH):
        for match in pattern.finditer(bare):
            name = "new" if match["new"] else "also"
            text = _statement(message[match.start(name) : match.end(name)])
            old = one_line(message[match.start("old") : match.end("old")])
            if content_stems(text) and not text.endswith("?") and _USES.search(text):
                found.append((match.start(), Replace(old, text)))
    return found


def without_quotes(text: str) -> str:
    """The text with blanks in place of quotations, code and pasted lines."""
    return _QUOTED.sub(_blank, text)


def _blank(match: re.Match[str]) -> str:
    """Blanks of the same length: a request inside a quotation is nobody's request here."""
    return re.sub(r"[^\n]", "\u2060", match[0])


_END = re.compile(r"(?<!\w)(\w*)[.!?]+\s+(?=[A-ZА-ЯЁ«\"])")
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
