"""``python -m mephisto_tasks.free_for_all.run [conf=NAME] [overrides]``: launch free-for-all."""

import sys

from mephisto_tasks.commands.launch import run_task

if __name__ == "__main__":
    sys.exit(run_task("free_for_all", sys.argv[1:]))
