"""Ready-made configuration of MCP hosts: what to put where."""

import json
from collections.abc import Sequence

HOSTS = ("claude-code", "claude-desktop", "cursor", "codex", "vscode")


def config(host: str, command: Sequence[str]) -> tuple[str, str]:
    """The text to put in, and the file that it goes into. `command` starts the server on stdio."""
    entry = {"command": command[0], "args": list(command[1:])}
    if host == "codex":
        arguments = ", ".join(json.dumps(word, ensure_ascii=False) for word in command[1:])
        text = f"[mcp_servers.letopis]\ncommand = {json.dumps(command[0], ensure_ascii=False)}\nargs = [{arguments}]"
        return text, "~/.codex/config.toml"
    if host == "vscode":
        return _json({"servers": {"letopis": {"type": "stdio", **entry}}}), ".vscode/mcp.json in the project"
    places = {
        "claude-code": ".mcp.json in the project",
        "claude-desktop": "claude_desktop_config.json (Settings, Developer, Edit Config)",
        "cursor": "~/.cursor/mcp.json",
    }
    return _json({"mcpServers": {"letopis": entry}}), places[host]


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
