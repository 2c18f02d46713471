"""Single models (Smith et al. 2022; Liu et al. 2023): ticks at each reply, ratings at the end."""
