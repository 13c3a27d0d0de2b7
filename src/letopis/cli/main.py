"""The command `letopis`. Subcommands are imported only when they run."""

import importlib
import json
import sys
from typing import Any

import click

from letopis import __version__
from letopis.cli.app import App, common
from letopis.errors import LetopisError

# name → module, and what `letopis --help` says of it
COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("init", "Make a workspace, or adopt a folder of such files."),
    "chat": ("chat", "Talk; every word is kept."),
    "remember": ("remember", "Keep a fact."),
    "memory": ("memory", "Show, trace, change and undo what is remembered."),
    "search": ("search", "Find what was kept or said."),
    "research": ("research", "Gather evidence on a question from the whole memory."),
    "experience": ("experience", "Questions answered well, and lessons of those answered badly."),
    "sessions": ("sessions", "List, read and delete conversations."),
    "context": ("context", "Show the prompt that the next reply would get."),
    "close": ("close", "Close a conversation and archive it."),
    "worker": ("worker", "Take facts, fold, digest and archive, in the background."),
    "consolidate": ("consolidating", "Take the facts of what no model has seen yet."),
    "import": ("imports", "Bring in conversations of other programs."),
    "index": ("indexing", "Bring the search index up to date."),
    "vector-memory": ("vector_memory", "Look at the index file, and make it small again."),
    "library": ("library", "Open the memory library in the browser."),
    "serve": ("serve", "Serve the memory over HTTP: its pages, an API, MCP, and a proxy for clients."),
    "keys": ("keys", "Keys that open the workspace to other programs."),
    "mcp": ("mcp", "Serve the memory to assistants by the Model Context Protocol."),
    "status": ("status", "Show what is in the workspace and what was used."),
    "doctor": ("doctor", "Find what is damaged, and mend it."),
    "config": ("config", "Show every setting and where it comes from."),
    "demo": ("demo", "Play two short conversations through their whole life."),
}


class _Lazy(click.Group):
    """A group whose commands are imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"letopis.cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in COMMANDS.items()])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[Any, Any, list[str]]:
        """The command meant; an unknown one names those there are."""
        if args and args[0] not in COMMANDS:
            ctx.fail(f"there is no command {args[0]!r}; there are: {', '.join(COMMANDS)}")
        return super().resolve_command(ctx, args)


@click.group(cls=_Lazy)
@click.version_option(__version__, prog_name="letopis")
@common
def cli(app: App) -> None:
    """Long-term memory for an AI assistant, in plain files that you can read."""


def main() -> None:
    """Run the command line; an error says what happened and what to do, and exits with 1."""
    try:
        code = cli(standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.Abort:
        click.echo("stopped", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except LetopisError as error:
        if "--json" in sys.argv:
            click.echo(json.dumps({"status": "error", "error": str(error)}, ensure_ascii=False))
        else:
            click.echo(f"{click.style('error:', fg='red')} {error}", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
