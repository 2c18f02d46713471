"""Engine 1: a person talks to models, and rates at every turn and at the end."""
