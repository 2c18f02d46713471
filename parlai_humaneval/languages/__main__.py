"""``python -m parlai_humaneval.languages``: the catalogues are brought up to date with the sources."""

from parlai_humaneval.languages.collecting import refresh

if __name__ == "__main__":
    for tag, missing in refresh().items():
        print(f"{tag}.po: {missing} texts without a translation" if missing else f"{tag}.po: complete")
