"""PW-Dialog on self-chats (Smith et al. 2022, §3.1.3): models talk to themselves first, where that is still to be done."""
