"""Every subclass and patch of Mephisto."""
