"""Models in other processes, on this machine or on a Ray cluster, behind the same pool."""
