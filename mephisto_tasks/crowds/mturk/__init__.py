"""Amazon Mechanical Turk and its sandbox: Mephisto's providers, fixed, and all requests to MTurk."""
