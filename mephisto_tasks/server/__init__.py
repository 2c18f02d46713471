"""Our router for Mephisto's wire protocol (``PROTOCOL.md``): it keeps packets until confirmed, in process, without Node."""
