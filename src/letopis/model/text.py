"""Text as people mean it: one normaliser for Russian and English, words, stems, cuts.

Index and query, comparison of facts and support checks all use these same functions.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

import Stemmer

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*", re.UNICODE)
_CYRILLIC = re.compile(r"[Ѐ-ӿ]")
_LATIN = re.compile(r"[A-Za-zÀ-ɏ]")
_RUSSIAN = Stemmer.Stemmer("russian")
_ENGLISH = Stemmer.Stemmer("english")
_OLD_SIGNS = "«»—–…№“”„‘’"
_NEGATION = re.compile(r"\b(?:not|no|never|cannot|without|не|нет|ни|никогда|нельзя|без)\b|n['’]t\b")
# Common nouns whose forms the stemmer takes apart.
_FORMS = """памят память
ден день дня дню днем дни дней дням днями днях
матер мать дочер дочь любов любовь любви
врем время времени временем времена временам временами временах
имен имя имени именем имена именам именами именах
люд человек людей люди людям людьми людях человека человеку человеком"""
_IRREGULAR = {form: group[0] for group in ([*line.split()] for line in _FORMS.splitlines()) for form in group[1:]}
_CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)

# Words that carry no meaning of their own. Negations are not among them: "likes tea"
# and "does not like tea" must never be taken for the same.
STOP_WORDS = frozenset(
    """a an the of to in on at by for with from into about as is are was were be been being am i me my
    we us our you your he she it its they them their this that these those and or but if then so do does
    did has have had will would can could should may might what which who whom whose when where why how
    there here just also than too very any some
    и в во на по с со к ко о об от до за из у для при над под про без через а но или же ли бы то что чтобы
    как так это этот эта эти этого этой этому этих тот та те того той я ты он она оно мы вы они мне меня мой
    моя мое мои моего моей тебя тебе твой твоя его ее их им нас нам наш наша вас вам ваш ваша себя был была
    было были быть есть буду будет будем когда где кто чем чего который которая которые какой какая какие
    какое уже еще ещё только вот там тут здесь если""".replace("ё", "е").split()
)


def normalise(text: str) -> str:
    """The text in the form in which it is compared: NFKC, case folded, ё as е."""
    return unicodedata.normalize("NFKC", text).casefold().replace("ё", "е")


def words(text: str) -> list[str]:
    """The words of a text, normalised, in order."""
    return _WORD.findall(normalise(text))


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """The stem of one normalised word, by its script."""
    if _CYRILLIC.search(word):
        return _IRREGULAR.get(word) or str(_RUSSIAN.stemWord(word))
    return str(_ENGLISH.stemWord(word))


def stems(text: str) -> list[str]:
    """The stems of all words of a text, in order."""
    return [stem(word) for word in words(text)]


def content_stems(text: str) -> list[str]:
    """The stems that carry meaning: stop words left out, negations kept."""
    return [stem(word) for word in words(text) if word not in STOP_WORDS]


def negated(text: str) -> bool:
    """Whether a statement says that something is not so."""
    return _NEGATION.search(normalise(text)) is not None


def is_cyrillic(text: str) -> bool | None:
    """Whether most letters are Cyrillic; None where there are too few letters to tell."""
    bare = _CODE.sub(" ", text)
    cyrillic, latin = len(_CYRILLIC.findall(bare)), len(_LATIN.findall(bare))
    return None if cyrillic + latin < 3 else cyrillic > latin


def one_line(text: str) -> str:
    """The text on one line: every run of white space and control characters is one space."""
    visible = "".join(" " if unicodedata.category(c) in ("Cc", "Zl", "Zp") else c for c in text)
    return re.sub(r"\s+", " ", visible).strip()


def decoded(raw: bytes) -> str | None:
    """Text of bytes in UTF-8, in UTF-16 with its mark, or in the old Cyrillic encoding; else None."""
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        try:
            return raw.decode("utf-16")
        except UnicodeDecodeError:
            return None
    try:
        return raw.decode()
    except UnicodeDecodeError:
        old = raw.decode("cp1251", "replace")
        odd = sum(not (c.isalnum() or c.isspace() or (c.isascii() and c.isprintable()) or c in _OLD_SIGNS) for c in old)
        return old if is_cyrillic(old) and odd * 20 <= len(old) else None


def printable(text: str) -> str:
    """The text with what UTF-8 cannot hold (lone surrogates) replaced by U+FFFD."""
    return text if is_unicode(text) else text.encode("utf-8", "replace").decode()


def is_unicode(text: str) -> bool:
    """Whether UTF-8 can hold a text: it has no half of a character (a lone surrogate)."""
    return text.isascii() or not _has_surrogate(text)


def _has_surrogate(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def shorten(text: str, limit: int, mark: str = "…") -> str:
    """The text, or its beginning and the mark, at most `limit` characters, no grapheme split."""
    if len(text) <= limit:
        return text
    end = max(0, limit - len(mark))
    while end > 0 and _joins(text[end - 1], text[end]):
        end -= 1
    return text[:end].rstrip() + mark


def safe_cut(text: str, limit: int) -> int:
    """Where to cut a longer text so that a piece of at most `limit` characters breaks no character."""
    end = limit
    while end > limit // 2 and _joins(text[end - 1], text[end]):
        end -= 1
    return end if not _joins(text[end - 1], text[end]) else limit


def _joins(left: str, right: str) -> bool:
    """Whether a cut between these two characters would break one visible character."""
    return (
        unicodedata.combining(right) != 0
        or right in "\u200d\ufe0f\ufe0e"
        or left == "\u200d"
        or 0x1F3FB <= ord(right) <= 0x1F3FF
        or (0x1F1E6 <= ord(left) <= 0x1F1FF and 0x1F1E6 <= ord(right) <= 0x1F1FF)
        or (0xD800 <= ord(left) <= 0xDBFF)
    )


def overlap(left: Iterable[str], right: Iterable[str]) -> float:
    """Jaccard similarity of two bags of stems; two empty bags are not alike."""
    a, b = set(left), set(right)
    return len(a & b) / len(a | b) if a and b else 0.0
