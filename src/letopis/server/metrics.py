"""Figures for Prometheus: requests by route and status, sessions, facts, tokens; nothing of what was said."""

from collections import Counter
from collections.abc import Mapping

from letopis.server.workspaces import Opened


def rendered(requests: Mapping[tuple[str, int], int], opened: Opened) -> str:
    """The figures of the server and of one workspace in the text format."""
    store = opened.memory.store
    states = Counter(line.state for line in store.sessions.all())
    lines = ["# TYPE letopis_requests_total counter"]
    lines += [
        f'letopis_requests_total{{route="{route}",status="{status}"}} {count}'
        for (route, status), count in sorted(requests.items())
    ]
    lines.append("# TYPE letopis_sessions gauge")
    lines += [f'letopis_sessions{{state="{name}"}} {states[name]}' for name in ("live", "closing", "archived")]
    lines += ["# TYPE letopis_facts gauge", f"letopis_facts {len(store.facts.view().facts)}"]
    lines.append("# TYPE letopis_model_tokens_total counter")
    for (model, purpose), used in sorted(store.usage.totals().items()):
        labels = f'model="{_escaped(model)}",purpose="{_escaped(purpose)}"'
        lines.append(f'letopis_model_tokens_total{{{labels},kind="prompt"}} {used.prompt_tokens}')
        lines.append(f'letopis_model_tokens_total{{{labels},kind="completion"}} {used.completion_tokens}')
    return "\n".join([*lines, ""])


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
