"""PW-Dialog (Smith et al. 2022, §3.1.3; Acute-Eval): two finished dialogues side by side, and whose speaker is better."""
