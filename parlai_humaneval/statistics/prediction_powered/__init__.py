"""People's answers on a part and a judge's on all: narrower intervals that do not rest on the judge being right."""
