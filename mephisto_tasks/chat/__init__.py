"""Engine 1: a person talks to models, or to a human behind them."""
