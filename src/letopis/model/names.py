"""Names of files, and the rules that keep them safe: slugs, keys, session ids, times.

Every name made here is ASCII, lower case, free of separators, and legal on Windows.
"""

import hashlib
import re
import unicodedata
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache

from letopis.errors import InvalidInput
from letopis.model.text import is_unicode

MAX_KEY_CHARACTERS = 512
_LETTERS = "абвгдеёжзийклмнопрстуфхцчшщъыьэюяіїєґў"
_SOUNDS = "a b v g d e e zh z i y k l m n o p r s t u f h ts ch sh sch _ y _ e yu ya i yi ye g u"
_CYRILLIC = dict(zip(_LETTERS, _SOUNDS.split(" "), strict=True))
_DEVICES = {"con", "prn", "aux", "nul"} | {f"{d}{i}" for d in ("com", "lpt") for i in range(10)}
_RESERVED = {"raw-archive", "session-raw"} | _DEVICES
_SESSION_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")


def transliterate(text: str) -> str:
    """The text in ASCII letters as far as it can be: Cyrillic by sound, accents dropped."""
    out = []
    for char in unicodedata.normalize("NFC", text).casefold():
        latin = _CYRILLIC.get(char)
        out.append(latin.strip("_") if latin is not None else unicodedata.normalize("NFKD", char))
    return "".join(out).encode("ascii", "ignore").decode()


def slug(text: str, fallback: str = "session", max_bytes: int = 48) -> str:
    """A short name for a file, or `fallback` where nothing usable is left of the text."""
    name = "-".join(re.findall(r"[a-z0-9]+", transliterate(text)))
    if len(name) > max_bytes:
        name = name[:max_bytes].rsplit("-", 1)[0].strip("-")
    return fallback if not name or name in _RESERVED else name


@lru_cache(maxsize=4096)
def live_stem(key: str) -> str:
    """The name of the live file of a key: its slug and eight hex digits of its hash."""
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{slug(key, 'key', 40)}--{digest}"


def check_key(key: str) -> str:
    """The key itself, if it can be one. Raises InvalidInput."""
    if not isinstance(key, str) or not key.strip():
        raise InvalidInput(f"a key must be a text with at least one visible character, not {key!r}")
    if not is_unicode(key):
        raise InvalidInput(f"a key must be valid Unicode; {key!r} holds half of a character")
    if len(key) > MAX_KEY_CHARACTERS:
        raise InvalidInput(f"a key may have at most {MAX_KEY_CHARACTERS} characters; this one has {len(key)}")
    return key


def check_session_id(session_id: str) -> str:
    """The id itself, if it is one that this program could have made. Raises InvalidInput."""
    if not isinstance(session_id, str) or not is_session_id(session_id):
        raise InvalidInput(
            f"{session_id!r} is not a session id (lower-case letters, digits and dashes); "
            "`letopis sessions list` shows the ids there are"
        )
    return session_id


def is_session_id(text: str) -> bool:
    """Whether a text could be a session's id."""
    return _SESSION_ID.fullmatch(text) is not None


def stamp(moment: datetime) -> str:
    """A moment as it stands inside files: ISO 8601 with offset, to the millisecond."""
    return moment.isoformat(timespec="milliseconds")


def minute(moment: datetime) -> str:
    """A moment as it stands in names: `YYYY-MM-DD-HHMM`, in the zone the moment carries."""
    return moment.strftime("%Y-%m-%d-%H%M")


def free(base: str, ending: str, taken: Callable[[str], bool]) -> str:
    """`base + ending`, or with `-2`, `-3` … before the ending while the name is taken."""
    name, count = base + ending, 1
    while taken(name):
        count += 1
        name = f"{base}-{count}{ending}"
    return name
