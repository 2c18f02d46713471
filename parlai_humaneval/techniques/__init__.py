"""Techniques of evaluation: an entry for each, with engine, questions, scales, tables and planning figures."""

from parlai_humaneval.techniques.registry import (
    Engine,
    Picks,
    PlanningDefaults,
    Table,
    Technique,
    UnknownTechnique,
    picking,
    recorded_as,
    register,
    technique,
    techniques,
)

__all__ = [
    "Engine",
    "Picks",
    "PlanningDefaults",
    "Table",
    "Technique",
    "UnknownTechnique",
    "picking",
    "recorded_as",
    "register",
    "technique",
    "techniques",
]
