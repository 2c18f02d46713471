"""LLM judges: their bias, and prediction-powered estimates."""
