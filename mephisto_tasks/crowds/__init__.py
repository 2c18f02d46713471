"""Where raters come from: our side of each crowd."""
