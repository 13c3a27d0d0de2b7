"""The reference pages of the documentation, made from the commands and settings themselves."""

from collections.abc import Iterator

import click

from letopis.cli.main import COMMANDS, cli
from letopis.settings.tree import known


def commands() -> str:
    """The help of every command, as Markdown."""
    parts = []
    with click.Context(cli, info_name="letopis") as context:
        for name in COMMANDS:
            command = cli.get_command(context, name)
            assert command is not None
            parts += list(_pages(command, f"letopis {name}"))
    return "\n".join(parts)


def _pages(command: click.Command, name: str) -> Iterator[str]:
    context = click.Context(command, info_name=name, terminal_width=100, max_content_width=100)
    yield f"\n## {name}\n\n```\n{command.get_help(context)}\n```"
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            if found is not None:
                yield from _pages(found, f"{name} {inner}")


def settings() -> str:
    """Every setting, as a Markdown table."""
    rows = ["| setting | default | environment | meaning |", "|---|---|---|---|"]
    for item in known():
        rule = item.rule
        bounds = [f"at least {rule.low:.10g}"] if rule.low is not None else []
        bounds += [f"at most {rule.high:.10g}"] if rule.high is not None else []
        bounds += [f"one of {', '.join(rule.choices)}"] if rule.choices else []
        bounds += ["not in a workspace's file"] if not rule.workspace else []
        about = rule.about + (f" ({'; '.join(bounds)})" if bounds else "")
        default = list(item.default) if isinstance(item.default, tuple) else item.default
        shown = str(default).lower() if isinstance(default, bool) else repr(default).replace("'", '"')
        rows.append(f"| `{item.name}` | `{shown}` | `{item.variable}` | {about} |")
    return "\n" + "\n".join(rows) + "\n"
