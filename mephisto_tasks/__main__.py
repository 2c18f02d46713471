"""``python -m mephisto_tasks TASK [conf=NAME] [overrides]`` launches a task, as ``parlai-humaneval launch TASK`` does."""

from mephisto_tasks.cli.launch import launch
from parlai_humaneval._util.terminal import end_quickly

if __name__ == "__main__":
    end_quickly()
    launch(prog_name="python -m mephisto_tasks")
