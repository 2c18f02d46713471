"""``python -m mephisto_tasks.third_party.run [conf=NAME] [overrides]``: launch third-party ratings."""

import sys

from mephisto_tasks.commands.launch import run_task

if __name__ == "__main__":
    sys.exit(run_task("third_party", sys.argv[1:]))
