"""The languages in which raters read: English in the sources, every other one in a file of its own (``zh.po``)."""
