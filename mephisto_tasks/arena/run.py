"""``python -m mephisto_tasks.arena.run [conf=NAME] [overrides]``: launch arena."""

import sys

from mephisto_tasks.commands.launch import run_task

if __name__ == "__main__":
    sys.exit(run_task("arena", sys.argv[1:]))
