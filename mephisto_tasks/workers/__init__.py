"""Who may take part, who is blocked, and who has come before."""
