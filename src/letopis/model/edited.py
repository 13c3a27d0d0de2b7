"""A text that a person edited, back as bytes: lines that were not touched keep every byte they had."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

_MARK = "\ufeff"
_MOST = 1_000_000  # pairs of lines
_ENDING = re.compile(r"\r\n|\n|\r")


def shown(text: str) -> str:
    """A file's text as a page can edit it: without a byte order mark, every line ending a newline."""
    return _ENDING.sub("\n", text.removeprefix(_MARK))


def applied(before: str, edited: str) -> str:
    """The file's new text. Lines that are the same stay as they were; new ones end as most lines of the file do."""
    old, new = _lines(before.removeprefix(_MARK)), _lines(shown(edited))
    bare = [_ENDING.sub("", line).replace("\0", "\ufffd") for line in old]  # as a page gives it back
    ending = _usual_ending(old)
    wanted = [line.rstrip("\n").replace("\0", "\ufffd") for line in new]
    head = _common(bare, wanted)
    tail = _common(bare[head:][::-1], wanted[head:][::-1])
    out = old[:head]
    for tag, a, b, c, d in _changes(bare[head : len(bare) - tail], wanted[head : len(wanted) - tail]):
        if tag == "equal":
            out += old[head + a : head + b]
        else:
            out += [line.replace("\n", ending) for line in new[head + c : head + d]]
    out += old[len(old) - tail :]
    if new and not new[-1].endswith("\n") and out:
        out[-1] = _ENDING.sub("", out[-1])
    elif out:
        out[-1] = out[-1] if _ENDING.search(out[-1]) else out[-1] + ending
    # a line that was last and had no ending is not last any more
    out = [line if at == len(out) - 1 or _ENDING.search(line) else line + ending for at, line in enumerate(out)]
    text = "".join(out)
    if shown(text).replace("\0", "\ufffd") != shown(edited).replace("\0", "\ufffd"):
        text = shown(edited).replace("\n", ending)  # line endings of three kinds: two have met and made one
    return (_MARK if before.startswith(_MARK) else "") + text


def _common(left: Sequence[str], right: Sequence[str]) -> int:
    """With how many lines both begin."""
    return next((at for at, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))


def _changes(old: Sequence[str], new: Sequence[str]) -> Sequence[tuple[str, int, int, int, int]]:
    """What became of the lines between the first and the last that were edited; of very many, all of them changed."""
    if len(old) * len(new) > _MOST:
        return [("replace", 0, len(old), 0, len(new))]
    return SequenceMatcher(None, old, new, autojunk=False).get_opcodes()


def _lines(text: str) -> list[str]:
    """The lines with their endings; only line feeds and carriage returns end one."""
    out, start = [], 0
    for found in _ENDING.finditer(text):
        out.append(text[start : found.end()])
        start = found.end()
    return out + ([text[start:]] if start < len(text) else [])


def _usual_ending(lines: list[str]) -> str:
    counted = [found[0] for line in lines if (found := _ENDING.search(line))]
    return max(set(counted), key=counted.count) if counted else "\n"
