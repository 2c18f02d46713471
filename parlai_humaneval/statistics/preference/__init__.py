"""Choices between models: win rates, their tests, position bias, reasons."""
