"""The site: pages, what builds them, and what they draw from the package."""
