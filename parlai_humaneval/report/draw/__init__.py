"""What draws a report: terminal, HTML, SVG, JSON, CSV and LaTeX."""
