"""Speed, beside ParlAI's and Mephisto's own way in the same run: ``python -m benchmarks --help``."""
