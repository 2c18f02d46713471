"""The basis of all tests: results, clusters, permutations, corrections."""
