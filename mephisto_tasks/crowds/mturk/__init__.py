"""Amazon Mechanical Turk and its sandbox: Mephisto's providers, mended, and all that is asked of MTurk."""
