"""What every command shares: the workspace meant, its memory, and how results are printed."""

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from letopis.memory import Memory

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass
class App:
    """The options that stand before or after a subcommand."""

    workspace: str | None = None
    json: bool = False
    flags: dict[str, Any] = field(default_factory=dict)

    def folder(self) -> Path:
        """The workspace meant. Raises WorkspaceError."""
        from letopis.settings import load
        from letopis.store import workspace

        own = load(None, os.environ).settings.workspace
        return workspace.find(self.workspace, os.environ, Path.cwd(), own)

    def memory(self) -> "Memory":
        """The memory of the workspace meant."""
        return self.memory_in(self.folder())

    def memory_in(self, folder: Path) -> "Memory":
        """The memory of the workspace in a folder."""
        from letopis.memory import open_memory

        return open_memory(folder, environ=os.environ, **self.flags)

    def show(self, record: Mapping[str, Any], text: str) -> None:
        """The result: one JSON object with --json, else the text."""
        if self.json:
            self.event(record)
        elif text:
            click.echo(printable(text))

    def event(self, record: Mapping[str, Any]) -> None:
        """One JSON object on a line of its own."""
        text = json.dumps(record, ensure_ascii=False)
        escaped = _CONTROL.sub(lambda m: f"\\u{ord(m[0][0]):04x}{m[0][1:]}", text)
        click.echo(escaped.encode("utf-8", "replace").decode())


_CONTROL = re.compile(r"(\x1b\[[0-9;]*m)|[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(text: str) -> str:
    """Text that any terminal takes: colours, but no other control characters, no lone surrogates."""
    visible = _CONTROL.sub(lambda m: m[1] or f"\\x{ord(m[0]):02x}", text)
    return visible.encode("utf-8", "replace").decode()


def _set_workspace(ctx: click.Context, option: click.Parameter, value: str | None) -> None:
    if value is not None:
        ctx.ensure_object(App).workspace = value


def _set_json(ctx: click.Context, option: click.Parameter, value: bool) -> None:
    if value:
        ctx.ensure_object(App).json = True


def _set_flags(ctx: click.Context, option: click.Parameter, values: tuple[str, ...]) -> None:
    for given in values:
        name, equals, value = given.partition("=")
        if not equals:
            raise click.UsageError(f"--set wants NAME=VALUE, not {given!r}; `letopis config` shows the names")
        ctx.ensure_object(App).flags[name.strip()] = value.strip()


def common(function: Function) -> Function:
    """The options of every command, and the App as its first argument."""
    wrapped: Any = click.make_pass_decorator(App, ensure=True)(function)
    wrapped = click.option("--json", is_flag=True, expose_value=False, callback=_set_json, help="Print JSON.")(wrapped)
    wrapped = click.option(
        "--set", metavar="NAME=VALUE", multiple=True, expose_value=False, callback=_set_flags,
        help="A setting for this run, such as model.name=qwen3:8b.",
    )(wrapped)  # fmt: skip
    made: Function = click.option(
        "--workspace", metavar="DIR", expose_value=False, callback=_set_workspace, help="The workspace to use."
    )(wrapped)
    return made


class Day(click.ParamType[str]):
    """A day, written YYYY-MM-DD."""

    name = "day"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The day as it was written, if it is one."""
        try:
            return date.fromisoformat(str(value)).isoformat()
        except ValueError:
            self.fail(f"{value!r} is no day; write it as YYYY-MM-DD", param, ctx)
