"""Answers made ready to be published: nobody is named, and nothing leads back to the data directory."""
