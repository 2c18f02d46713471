"""``python -m mephisto_tasks.direct_assessment.run [conf=NAME] [overrides]``: launch direct assessment."""

import sys

from mephisto_tasks.commands.launch import run_task

if __name__ == "__main__":
    sys.exit(run_task("direct_assessment", sys.argv[1:]))
