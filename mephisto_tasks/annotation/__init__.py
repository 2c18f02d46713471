"""Engine 2: a person judges finished dialogues."""
