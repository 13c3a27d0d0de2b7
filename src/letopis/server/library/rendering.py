"""Text of the memory as HTML that can do nothing: Markdown without raw HTML, images or foreign schemes."""

import re
from collections.abc import Sequence
from functools import cache

from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from letopis.model import terms

_COMMENT = re.compile(r"<!--.*?-->[ \t]*\n?", re.DOTALL)
_ALLOWED = re.compile(r"^(https?://|mailto:|#|/library/)", re.IGNORECASE)
_TO_SESSION = re.compile(r"\]\((?:\.\./)*(sessions/[^)\s]+\.jsonl)\)")


def markdown(text: str, shift: int = 1) -> Markup:
    """A note as HTML. Comments of ours are not shown; headings begin below that of the page."""
    tokens = _reader().parse(_COMMENT.sub("", text))
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + shift)}"
    return Markup(_reader().renderer.render(tokens, _reader().options, {}))


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
