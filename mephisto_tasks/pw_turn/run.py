"""``python -m mephisto_tasks.pw_turn.run [conf=NAME] [overrides]``: launch PW-Turn."""

import sys

from mephisto_tasks.launching import main

if __name__ == "__main__":
    sys.exit(main("pw_turn", sys.argv[1:]))
