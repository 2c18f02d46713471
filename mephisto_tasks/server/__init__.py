"""Our router for Mephisto's wire protocol (``PROTOCOL.md``), and the local Architect that runs it.

Mephisto's own routers drop what is sent while a worker's socket is closed. This one keeps every
packet until the page confirms it, speaks to the operator in process, and needs no Node.
"""
