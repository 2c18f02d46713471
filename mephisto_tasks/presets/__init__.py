"""The published techniques: a folder of confs and materials each."""
