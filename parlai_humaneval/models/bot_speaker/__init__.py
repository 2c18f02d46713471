"""The Bot Speaker: one agent that asks several models for candidates."""
