"""PW-Dialog: which of two finished dialogues is better (Acute-Eval)."""
