"""A model as a program: it reads one question per line on standard input and writes one answer per line on standard output.

Print anything else to standard error, which goes to the log.
"""

from __future__ import annotations

import json
import sys

from reply import reply

for line in sys.stdin:
    print(json.dumps(reply(json.loads(line))), flush=True)
