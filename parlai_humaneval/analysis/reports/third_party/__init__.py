"""Third party: what was said in a dialogue, rated by somebody who did not hold it."""
