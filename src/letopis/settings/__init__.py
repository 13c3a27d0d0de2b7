"""Settings: one frozen tree, read in one place, and the clock that obeys them."""

from letopis.settings.clock import Clock, SystemClock
from letopis.settings.load import Loaded, load
from letopis.settings.tree import Settings

__all__ = ["Clock", "Loaded", "Settings", "SystemClock", "load"]
