"""Who rates what next."""
