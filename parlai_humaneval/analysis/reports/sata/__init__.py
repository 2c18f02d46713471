"""SOBA and SATA (Liu et al. 2023): any number of replies is picked, or one."""
