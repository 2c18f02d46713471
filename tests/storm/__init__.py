"""A storm over running studies: raters at work, faults drawn from a seed, and what must hold when it is over.

``python -m storm --seconds 60 --seed 7`` with this folder's parent on the path (``make storm``).
"""
