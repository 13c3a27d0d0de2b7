"""Pure decisions and values: no path, clock, connection or environment is seen here."""
