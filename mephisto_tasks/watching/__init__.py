"""What one sees of a study: how it stands, on a terminal and on a page; and its leaderboard."""
