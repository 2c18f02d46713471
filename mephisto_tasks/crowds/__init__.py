"""Where raters come from: what is ours of the crowds."""
