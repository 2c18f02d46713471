"""``python -m mephisto_tasks.single_model.run [conf=NAME] [overrides]``: launch single-model evaluation."""

import sys

from mephisto_tasks.commands.launch import run_task

if __name__ == "__main__":
    sys.exit(run_task("single_model", sys.argv[1:]))
