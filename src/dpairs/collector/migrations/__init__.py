"""The schema's versions, one file each, applied in order when a collector starts."""
