"""``python -m mephisto_tasks.self_chat.run [conf=NAME] [overrides]``: launch PW-Dialog on self-chats."""

import sys

from mephisto_tasks.commands.launch import run_task

if __name__ == "__main__":
    sys.exit(run_task("self_chat", sys.argv[1:]))
