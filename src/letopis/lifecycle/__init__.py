"""What happens to a session over time: facts are taken, it closes, it is summarised and archived."""
