"""Permissions, blocks, and earlier visits of workers."""
