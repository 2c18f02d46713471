"""``python -m mephisto_tasks.sata.run [conf=NAME] [overrides]``: launch SATA."""

import sys

from mephisto_tasks.commands.launch import run_task

if __name__ == "__main__":
    sys.exit(run_task("sata", sys.argv[1:]))
