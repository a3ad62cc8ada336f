"""What is written and read back: canonical JSON, checks of what was given, whole files."""
