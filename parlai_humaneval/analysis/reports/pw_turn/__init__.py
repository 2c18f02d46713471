"""PW-Turn (Smith et al. 2022): two replies, one is picked."""
