"""Data from elsewhere → tidy tables: CSV and JSONL of any origin, and what ParlAI's own crowd tasks saved.

:mod:`.tidy` reads tables; :mod:`.units` finds units of work in ParlAI's JSON files, and :mod:`.chats` and :mod:`.acute`
make rows of them; :mod:`.readers` checks all rows together. Nothing here imports ParlAI or Mephisto: the formats are read
as JSON.
"""
