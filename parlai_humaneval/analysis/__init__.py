"""What the answers mean: statistics on tidy tables, without a database, ParlAI or Mephisto.

``tables`` (records → tables) · ``read_tables``, ``write_tables`` (files) · ``study_report``, ``render`` (any live
technique) · the estimates and tests they are made of. Every test returns a :class:`Result`.

The public names stand in ``__init__.pyi`` and are loaded on use: nobody waits for libraries that they do not need.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
