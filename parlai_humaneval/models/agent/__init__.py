"""The common parts of all agents in this package: base class, history, options, names."""
