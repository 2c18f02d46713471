"""``python -m parlai_humaneval.self_chat.multirun``."""

from parlai_humaneval.self_chat.multirun.jobs import main

if __name__ == "__main__":
    main()
