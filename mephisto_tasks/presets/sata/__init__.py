"""SATA and SOBA (Liu et al. 2023): at every turn, all replies that are appropriate are selected, or the best one."""
