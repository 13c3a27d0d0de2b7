"""Reads the settings: defaults < user file < workspace file < environment < flags.

The environment is an argument. A wrong setting names itself, its place, its value and what is
allowed; an unknown one is an error too, with the closest name there is.
"""

import difflib
import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from letopis.errors import SettingsError
from letopis.settings.clock import zone
from letopis.settings.tree import Known, Settings, known

_OLD_PREFIXES = ("tools.", "agents.defaults.", "agent.")
_ALIASES = {"model.model": "model.name", "model.key": "model.api_key", "context_window": "context_window_tokens"}
_TRUE, _FALSE = {"true", "1", "yes", "on"}, {"false", "0", "no", "off"}


@dataclass(frozen=True, slots=True)
class Origin:
    """A value of a setting and the place it comes from."""

    value: Any
    place: str


@dataclass(frozen=True, slots=True)
class Loaded:
    """The settings and, for each, where it comes from."""

    settings: Settings
    origins: Mapping[str, Origin]


def user_file(environ: Mapping[str, str]) -> Path:
    """The user's own settings file."""
    if environ.get("LETOPIS_CONFIG"):
        return Path(environ["LETOPIS_CONFIG"])
    base = environ.get("XDG_CONFIG_HOME") or environ.get("APPDATA")
    return Path(base or Path.home() / ".config") / "letopis" / "config.toml"


def load(workspace: Path | None, environ: Mapping[str, str], flags: Mapping[str, Any] | None = None) -> Loaded:
    """The settings for a workspace. Raises SettingsError at the first wrong one."""
    table = {item.name: item for item in known()}
    origins = {name: Origin(item.default, "default") for name, item in table.items()}
    personal = user_file(environ)
    for name, value, place in _from_file(personal, table):
        origins[name] = Origin(_checked(table[name], value, place), place)
    if workspace is not None:
        for name, value, place in _from_file(workspace / "letopis.toml", table):
            if not table[name].rule.workspace:
                raise SettingsError(
                    f"{name} in {place}: a workspace may not set it, because its file may come from "
                    f"somebody else; set it in {personal} or as {table[name].variable}"
                )
            origins[name] = Origin(_checked(table[name], value, place), place)
    for name, item in table.items():
        if environ.get(item.variable):
            place = f"environment {item.variable}"
            origins[name] = Origin(_checked(item, environ[item.variable], place), place)
    for flag, value in (flags or {}).items():
        name = _name(flag, table, "flags")
        origins[name] = Origin(_checked(table[name], value, "flag"), "flag")
    _standard_key(origins, environ)
    return Loaded(_tree(Settings(), {n: o.value for n, o in origins.items()}, ""), origins)


def _standard_key(origins: dict[str, Origin], environ: Mapping[str, str]) -> None:
    """The key of the default endpoint may stand in its own well-known variable."""
    unset = not origins["model.api_key"].value and not origins["model.base_url"].value
    if unset and origins["model.name"].value and environ.get("OPENAI_API_KEY"):
        origins["model.api_key"] = Origin(environ["OPENAI_API_KEY"], "environment OPENAI_API_KEY")


def _from_file(path: Path, table: Mapping[str, Known]) -> Iterator[tuple[str, Any, str]]:
    try:
        data = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError:
        return
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is not valid TOML: {error}") from None
    for written, value in _flat(data):
        yield _name(written, table, str(path)), value, str(path)


def _flat(node: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in node.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _name(written: str, table: Mapping[str, Known], place: str) -> str:
    """The setting that a written name means; the names of older bots are understood."""
    snake = re.sub(r"(?<=[a-z0-9])([A-Z])", lambda m: "_" + m[1].lower(), written).replace("-", "_")
    for prefix in _OLD_PREFIXES:
        snake = snake.removeprefix(prefix)
    snake = _ALIASES.get(snake, snake)
    if snake in table:
        return snake
    close = difflib.get_close_matches(snake, table, 1)
    hint = f"; did you mean {close[0]}?" if close else f"; there are: {', '.join(table)}"
    raise SettingsError(f"there is no setting {written!r} ({place}){hint}")


def _checked(item: Known, value: Any, place: str) -> Any:
    try:
        made = _cast(item, value)
    except ValueError as error:
        shown = "***" if item.rule.secret else repr(value)
        raise SettingsError(f"{item.name} in {place} is {shown}, but {error}") from None
    return made


def _cast(item: Known, value: Any) -> Any:
    default, rule = item.default, item.rule
    if isinstance(default, bool):
        return _boolean(value)
    if isinstance(default, int | float):
        return _number(item, value)
    if isinstance(default, tuple):
        parts = value.split(",") if isinstance(value, str) else value
        if not isinstance(parts, Iterable) or not all(isinstance(p, str) for p in parts):
            raise ValueError("it must be a list of texts")
        return tuple(p.strip() for p in parts if p.strip())
    if not isinstance(value, str):
        raise ValueError("it must be a text")
    if rule.choices and value not in rule.choices:
        raise ValueError(f"it must be one of {', '.join(rule.choices)}")
    if item.name == "timezone" and value:
        _zone(value)
    return value


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    text = str(value).strip().lower()
    if text not in _TRUE | _FALSE:
        raise ValueError("it must be true or false")
    return text in _TRUE


def _number(item: Known, value: Any) -> float | int:
    kind, rule = type(item.default), item.rule
    whole = "a whole number" if kind is int else "a number"
    ends = [f"at least {rule.low:.10g}"] if rule.low is not None else []
    ends += [f"at most {rule.high:.10g}"] if rule.high is not None else []
    wanted = " ".join([f"it must be {whole}", " and ".join(ends)]).strip()
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(wanted)
    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise ValueError(wanted) from None
    low, high = rule.low, rule.high
    inside = (low is None or number >= low) and (high is None or number <= high)
    if not inside or math.isnan(number) or (kind is int and not number.is_integer()):
        raise ValueError(wanted)
    return int(number) if kind is int else number


def _zone(name: str) -> None:
    try:
        zone(name)
    except (KeyError, ValueError, OSError):
        raise ValueError("it must be an IANA time zone such as Europe/Moscow") from None


def _tree(node: Any, values: Mapping[str, Any], prefix: str) -> Any:
    changes: dict[str, Any] = {}
    for name in node.__dataclass_fields__:
        dotted = prefix + name
        inner = getattr(node, name)
        changes[name] = values[dotted] if dotted in values else _tree(inner, values, dotted + ".")
    return replace(node, **changes)
