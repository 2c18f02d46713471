"""Who may take part, who is blocked, and who pays."""
