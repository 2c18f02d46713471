"""``python -m mephisto_tasks.pw_turn.run [conf=NAME] [overrides]``: launch PW-Turn."""

import sys

from mephisto_tasks.commands.launch import run_task

if __name__ == "__main__":
    sys.exit(run_task("pw_turn", sys.argv[1:]))
