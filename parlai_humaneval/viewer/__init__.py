"""The viewer: every dialogue of a study with the answers about it, as a folder that opens without a server."""
