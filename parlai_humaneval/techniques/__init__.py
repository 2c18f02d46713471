"""Techniques of evaluation: an entry for each, with engine, questions, scales, tables and planning figures."""

from parlai_humaneval.techniques.registry import Engine as Engine
from parlai_humaneval.techniques.registry import Picks as Picks
from parlai_humaneval.techniques.registry import PlanningDefaults as PlanningDefaults
from parlai_humaneval.techniques.registry import Table as Table
from parlai_humaneval.techniques.registry import Technique as Technique
from parlai_humaneval.techniques.registry import UnknownTechnique as UnknownTechnique
from parlai_humaneval.techniques.registry import picking as picking
from parlai_humaneval.techniques.registry import recorded_as as recorded_as
from parlai_humaneval.techniques.registry import register as register
from parlai_humaneval.techniques.registry import technique as technique
from parlai_humaneval.techniques.registry import techniques as techniques
