"""The vectors of pieces of text, made once for whoever asks first: the search, or the thread of a conversation."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from letopis.errors import SearchError
from letopis.index.database import Database
from letopis.index.rank import unit
from letopis.index.sync import bump, digest_of, passage_of, pieces_of
from letopis.llm.embedding import Embedder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

_BATCH, _AT_ONCE = 16, 500
_OF_MESSAGES = "FROM sources s JOIN units u ON u.source = s.id {} WHERE s.session_id = ? AND u.position IN ({{}})"
_DIGESTS = f"SELECT u.n, p.digest {_OF_MESSAGES.format('JOIN pieces p ON p.unit = u.id')} ORDER BY p.id"
_TEXTS = f"SELECT u.n, u.speaker, u.text {_OF_MESSAGES.format('')}"


def known_of(database: Database, session_id: str, numbers: Sequence[int]) -> "dict[int, Vector] | None":
    """The unit vector of each message that the index holds, the mean of its pieces; None where any piece lacks one."""
    digests, _ = _pieces(database, session_id, numbers, with_texts=False)
    wanted = {digest for row in digests.values() for digest in row}
    known = _known(database, wanted)
    return _means(digests, known) if wanted <= known.keys() else None


def of_messages(database: Database, embedder: Embedder, session_id: str, numbers: Sequence[int]) -> "dict[int, Vector]":
    """The same, with the missing ones made. Raises ModelError."""
    _adopt(database, embedder)
    digests, texts = _pieces(database, session_id, numbers)
    wanted = list(dict.fromkeys(digest for row in digests.values() for digest in row))
    known = _known(database, wanted)
    known |= _made(database, embedder, [(digest, texts[digest]) for digest in wanted if digest not in known])
    return _means(digests, known)


def of_texts(database: Database, embedder: Embedder, texts: Sequence[str], make: bool) -> "dict[str, Vector]":
    """The vectors of short texts (their first pieces); without `make` only those that are known."""
    if make:
        _adopt(database, embedder)
    elif database.meta("embedder") != embedder.identity:
        return {}
    firsts = {text: pieces_of(text)[0] for text in texts}
    digests = {text: digest_of(passage_of("", first)) for text, first in firsts.items()}
    known = _known(database, set(digests.values()))
    if make:
        missing = {digests[text]: first for text, first in firsts.items() if digests[text] not in known}
        known |= _made(database, embedder, list(missing.items()))
    return {text: known[digest] for text, digest in digests.items() if digest in known and known[digest].any()}


def _means(digests: "Mapping[int, list[bytes]]", known: "Mapping[bytes, Vector]") -> "dict[int, Vector]":
    means = {n: np.mean([known[digest] for digest in row], axis=0) for n, row in digests.items() if row}
    return {n: mean / np.linalg.norm(mean) for n, mean in means.items() if np.linalg.norm(mean) > 0}


def fill(database: Database, embedder: Embedder, progress: Callable[[int, int], None], stop: Callable[[], bool]) -> int:
    """Give vectors to the pieces that lack one, the newest first, in batches; returns how many were made."""
    _adopt(database, embedder)
    missing = _missing(database)
    done = 0
    for start in range(0, len(missing), _BATCH):
        if stop():
            break
        done += len(_made(database, embedder, missing[start : start + _BATCH]))
        progress(done, len(missing))
    return done


def _made(database: Database, embedder: Embedder, passages: Sequence[tuple[bytes, str]]) -> "dict[bytes, Vector]":
    """Embed passages and keep their vectors under their content hashes; one without a vector is kept as zeros."""
    if not passages:
        return {}
    made = unit(embedder.passages([text for _, text in passages]))
    rows = {
        digest: np.nan_to_num(vector, nan=0.0).astype(np.float16)
        for (digest, _), vector in zip(passages, made, strict=True)
    }
    with database.writing() as connection:
        connection.executemany(
            "INSERT OR IGNORE INTO vectors (digest, vector) VALUES (?, ?)", [(d, v.tobytes()) for d, v in rows.items()]
        )
        bump(connection)
    return {digest: vector.astype(np.float32) for digest, vector in rows.items()}


def _adopt(database: Database, embedder: Embedder) -> None:
    """Note whose vectors these are. Raises SearchError where they are another model's."""
    made_with = database.meta("embedder")
    if made_with not in ("", embedder.identity):
        raise SearchError(
            f"the vectors were made with {made_with}, and the embedder now is {embedder.identity}; "
            "`letopis index --rebuild` makes them anew, until then search goes by words"
        )
    if not made_with:
        with database.writing():
            database.set_meta("embedder", embedder.identity)


def _missing(database: Database) -> list[tuple[bytes, str]]:
    """Hash and passage of every piece without a vector, the newest first."""
    with database.reading() as connection:
        units = connection.execute(
            "SELECT DISTINCT u.id, u.speaker, u.text FROM units u JOIN pieces p ON p.unit = u.id "
            "LEFT JOIN vectors v ON v.digest = p.digest WHERE v.digest IS NULL ORDER BY u.id DESC"
        ).fetchall()
        out: dict[bytes, str] = {}
        for unit_id, speaker, text in units:
            digests = connection.execute("SELECT digest FROM pieces WHERE unit = ? ORDER BY id", (unit_id,))
            for (digest,), part in zip(digests, pieces_of(text), strict=True):
                out.setdefault(digest, passage_of(speaker, part))
        known = {row[0] for row in connection.execute("SELECT digest FROM vectors")}
    return [(digest, text) for digest, text in out.items() if digest not in known]


def _pieces(
    database: Database, session_id: str, numbers: Sequence[int], with_texts: bool = True
) -> tuple[dict[int, list[bytes]], dict[bytes, str]]:
    """The content hashes of the pieces of each message, and what is embedded for each."""
    digests: dict[int, list[bytes]] = {}
    texts: dict[bytes, str] = {}
    marks = ",".join("?" * len(numbers))
    with database.reading() as connection:
        for n, digest in connection.execute(_DIGESTS.format(marks), (session_id, *numbers)):
            digests.setdefault(n, []).append(digest)
        if with_texts:
            for n, speaker, text in connection.execute(_TEXTS.format(marks), (session_id, *numbers)):
                parts = (passage_of(speaker, part) for part in pieces_of(text))
                texts.update(zip(digests.get(n, ()), parts, strict=False))
    return digests, texts


def _known(database: Database, digests: Collection[bytes]) -> "dict[bytes, Vector]":
    wanted, found = list(digests), {}
    with database.reading() as connection:
        for start in range(0, len(wanted), _AT_ONCE):
            part = wanted[start : start + _AT_ONCE]
            marks = ",".join("?" * len(part))
            for digest, vector in connection.execute(
                f"SELECT digest, vector FROM vectors WHERE digest IN ({marks})", part
            ):
                found[digest] = np.frombuffer(vector, np.float16).astype(np.float32)
    return found
