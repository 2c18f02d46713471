"""The partners' page: people who write the replies of a ``human`` model while raters talk to it."""
