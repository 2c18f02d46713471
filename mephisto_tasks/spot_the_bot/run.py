"""``python -m mephisto_tasks.spot_the_bot.run [conf=NAME] [overrides]``: launch Spot The Bot."""

import sys

from mephisto_tasks.commands.launch import run_task

if __name__ == "__main__":
    sys.exit(run_task("spot_the_bot", sys.argv[1:]))
