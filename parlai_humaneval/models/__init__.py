"""Which models exist, and one loaded copy of each for all conversations."""

import warnings

# ParlAI imports pkg_resources, which says so in front of every command's output. setuptools is held below the
# version that drops it (setup.py).
warnings.filterwarnings("ignore", message="pkg_resources is deprecated", category=UserWarning)
