"""A crowd of your own: raters with a name and a password."""
