"""PW-Turn (Smith et al. 2022, §3.1.2): two replies at every turn, one is chosen, with a written reason."""
