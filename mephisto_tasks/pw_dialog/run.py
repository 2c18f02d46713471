"""``python -m mephisto_tasks.pw_dialog.run [conf=NAME] [overrides]``: launch PW-Dialog."""

import sys

from mephisto_tasks.commands.launch import run_task

if __name__ == "__main__":
    sys.exit(run_task("pw_dialog", sys.argv[1:]))
