"""General helpers: private files, readers of YAML and JSON, progress, errors of commands."""

__version__ = "0.2.0"
