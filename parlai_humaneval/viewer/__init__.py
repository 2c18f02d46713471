"""The viewer: every dialogue of a study with what was answered about it, as a folder that opens without a server."""
