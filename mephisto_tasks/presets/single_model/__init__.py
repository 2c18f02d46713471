"""One model a chat, rated at every turn and at the end (Smith et al. 2022, §3.1.4; Liu et al. 2023, “Single-Model”)."""
