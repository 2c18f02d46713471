"""Which reply is more polite?"""
