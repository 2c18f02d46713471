"""May this visitor begin now?"""
