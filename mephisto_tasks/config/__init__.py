"""Settings as pydantic models."""
