"""``python -m mephisto_tasks TASK [conf=NAME] [overrides]`` launches a task, as ``parlai-humaneval launch TASK`` does."""

from mephisto_tasks.commands.launch import launch

if __name__ == "__main__":
    launch(prog_name="python -m mephisto_tasks")
