"""Text of the memory as HTML that can do nothing: Markdown without raw HTML, images or foreign schemes."""

import re
from collections.abc import Sequence
from functools import cache

from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from letopis.model import terms

_ALLOWED = re.compile(r"^(https?://|mailto:|#|/library/)", re.IGNORECASE)


def markdown(text: str, shift: int = 1) -> Markup:
    """A note as HTML. Comments of ours are not shown; headings begin below that of the page."""
    tokens = _reader().parse(_without_comments(text))
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + shift)}"
    return Markup(_reader().renderer.render(tokens, _reader().options, {}))


def _without_comments(text: str) -> str:
    """The text without what stands between `<!--` and `-->`, and the blank that it would leave behind it."""
    out, at = [], 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start)) >= 0:
        out.append(text[at:start])
        at = end + 3
        if text[at : at + 1] == "\n":
            at += 1
    return "".join([*out, text[at:]])


@cache
def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable("table").disable("image")
    reader.add_render_rule("table_open", lambda *_: '<div class="scroll" tabindex="0"><table>\n')
    reader.add_render_rule("table_close", lambda *_: "</table></div>\n")
    reader.validateLink = lambda url: bool(_ALLOWED.match(url))  # type: ignore[method-assign]
    return reader


def marked(text: str, matched: Sequence[str]) -> Markup:
    """A text with the words that a search matched in `<mark>`."""
    return Markup("").join(
        Markup("<mark>{}</mark>").format(piece) if hit else escape(piece)
        for piece, hit in terms.highlighted(text, matched)
    )
