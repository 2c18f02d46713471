"""What every test is built on: results, clusters, permutations, corrections."""
