"""Which answers count, and what raters must not see: checks on raters, exclusions, and give-aways of models.

``CHECKS`` (name → check) · ``default_checks`` (of a technique's paper) · ``check_dialogue``, ``check_workers``,
``checked`` (verdicts) · ``exclude``, ``exclude_everywhere`` (records → those kept, and why the others are not).
"""

from parlai_humaneval.quality.registry import CHECKS as CHECKS
from parlai_humaneval.quality.registry import JUDGEMENT_CHECKS as JUDGEMENT_CHECKS
from parlai_humaneval.quality.registry import Check as Check
from parlai_humaneval.quality.registry import CheckCount as CheckCount
from parlai_humaneval.quality.registry import CheckError as CheckError
from parlai_humaneval.quality.registry import Exclusions as Exclusions
from parlai_humaneval.quality.registry import Failure as Failure
from parlai_humaneval.quality.registry import Verdict as Verdict
from parlai_humaneval.quality.registry import check_dialogue as check_dialogue
from parlai_humaneval.quality.registry import check_workers as check_workers
from parlai_humaneval.quality.registry import checked as checked
from parlai_humaneval.quality.registry import default_checks as default_checks
from parlai_humaneval.quality.registry import exclude as exclude
from parlai_humaneval.quality.registry import exclude_everywhere as exclude_everywhere
from parlai_humaneval.quality.registry import known_checks as known_checks
from parlai_humaneval.quality.registry import needs_all_records as needs_all_records
