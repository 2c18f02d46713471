"""A report consists of sections with data and text, and every output format is rendered from them."""
