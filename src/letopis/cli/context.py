"""`letopis context`."""

import click

from letopis.cli.app import App, common
from letopis.context import Prompt

_WIDTH = 40


@click.command("context")
@click.argument("key", default="cli:local")
@common
def command(app: App, key: str) -> None:
    """The prompt that the next reply under KEY (default: cli:local) would get."""
    prompt = app.memory().context(key)
    app.show({"status": "ok", "key": key, **record_of(prompt), "messages": prompt.messages}, drawn(prompt))


def record_of(prompt: Prompt) -> dict[str, object]:
    """What each block took, as JSON."""
    rows = [
        {"block": b.name, "tokens": b.tokens, "cap": b.cap, "cut": b.cut, "problem": b.problem} for b in prompt.blocks
    ]
    return {"tokens": prompt.tokens, "budget": prompt.budget, "window": prompt.window, "blocks": rows}


def drawn(prompt: Prompt) -> str:
    """What each block took, as bars."""
    lines = [f"{prompt.tokens} of {prompt.budget} tokens (window {prompt.window})"]
    for block in prompt.blocks:
        length = min(_WIDTH, round(_WIDTH * block.tokens / max(1, prompt.budget)))
        bar = "█" * max(length, 1 if block.tokens else 0)
        lines.append(f"  {block.name:13}{bar:{_WIDTH}} {block.tokens:>7} / {block.cap}")
        lines += [f"  {'':13}{remark}" for remark in (block.cut, block.problem) if remark]
    return "\n".join(lines)
