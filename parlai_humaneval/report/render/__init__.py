"""What draws a report: HTML, LaTeX, SVG, CSV, terminal."""
