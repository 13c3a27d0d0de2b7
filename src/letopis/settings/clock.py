"""What time it is, in the zone of the workspace."""

import time
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Protocol

_OFFSET_HOLDS = 900  # seconds: offsets change at quarter hours only


class Clock(Protocol):
    """Tells the time; tests have their own."""

    def now(self) -> datetime:
        """This moment, with its offset."""
        ...


class SystemClock:
    """The machine's clock in a given zone; without one, in the machine's."""

    def __init__(self, zone_name: str = "") -> None:
        self._zone = zone(zone_name)
        self._offset, self._known_until = UTC, 0.0

    def now(self) -> datetime:
        """This moment, with its offset."""
        if self._zone is not None:
            return datetime.now(self._zone)
        seconds = time.time()
        if seconds >= self._known_until:
            self._offset = _offset(time.localtime(seconds).tm_gmtoff)
            self._known_until = (seconds // _OFFSET_HOLDS + 1) * _OFFSET_HOLDS
        return datetime.fromtimestamp(seconds, self._offset)


@lru_cache(maxsize=8)
def _offset(seconds: int) -> timezone:
    return timezone(timedelta(seconds=seconds))


def zone(name: str) -> tzinfo | None:
    """The time zone of this IANA name; None, the machine's, for an empty one."""
    if not name:
        return None
    from zoneinfo import ZoneInfo

    return ZoneInfo(name)
