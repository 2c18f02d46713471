"""Spot The Bot (Deriu et al. 2020): who in the beginning of a dialogue is a human, and who is a bot?"""
