"""Computes the necessary size of a study: turns, dialogues, workers, hours and money.

``inputs`` is what a user may ask, ``designs`` what is compared with what, ``power`` the formulas, ``plan`` the answer,
``simulation`` its proof, ``stopping`` the same of studies that stop once decided, ``words`` what is said of all of it.
"""
