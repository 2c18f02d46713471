"""What every agent of this package shares: base class, history, options, names."""
