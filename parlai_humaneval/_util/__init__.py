"""General helpers: private files, readers of YAML and JSON, progress, errors of commands."""
