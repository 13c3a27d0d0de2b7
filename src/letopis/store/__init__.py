"""The files of a workspace: the truth. Nothing here knows of any index, model or prompt."""

from letopis.store.store import Store, open_store

__all__ = ["Store", "open_store"]
