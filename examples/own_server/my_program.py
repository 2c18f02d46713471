"""A model as a program: a question a line on standard input, an answer a line on standard output.

Print other things to standard error; they go to the log.
"""

from __future__ import annotations

import json
import sys

from reply import reply

for line in sys.stdin:
    print(json.dumps(reply(json.loads(line))), flush=True)
