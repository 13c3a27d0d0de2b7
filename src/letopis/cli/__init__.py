"""The command line: a command parses, makes one call, prints."""
