"""What both engines share: the rater's page as the server sees it, practice, the runner, and the settings of every task."""
