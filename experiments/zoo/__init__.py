"""Awkward populations, and how often intervals hold on them: ``make zoo``."""
