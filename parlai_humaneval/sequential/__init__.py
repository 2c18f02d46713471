"""Studies that end when they have their answer, and send raters to the pairs that are still open."""
