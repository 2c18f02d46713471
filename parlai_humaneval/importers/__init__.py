"""Converts other data to tidy tables: CSV and JSONL from any source, and files saved by ParlAI's crowd tasks.

:mod:`.tidy` reads tables; :mod:`.units` finds units of work in ParlAI's JSON files, and :mod:`.chats` and :mod:`.acute`
make rows of them; :mod:`.readers` checks all rows together. Nothing here imports ParlAI or Mephisto: the formats are read
as JSON.
"""
