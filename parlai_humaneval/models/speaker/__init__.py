"""The Bot Speaker: one partner to the person, several models behind it."""
