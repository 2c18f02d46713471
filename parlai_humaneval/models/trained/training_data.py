"""Dialogues of any format → the text files that ParlAI's ``fromfile:parlaiformat`` task trains on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from parlai_humaneval.protocol.dialogues.dialogue import Dialogue
from parlai_humaneval.protocol.dialogues.files import load_dialogues
from parlai_humaneval.protocol.materials.files import MaterialError
from parlai_humaneval.protocol.materials.persona_lines import OWN, PARTNERS, persona_line

FOLDS = ("train", "valid", "test")
HELD_OUT = 10
"""Without a file of its own, validation gets one dialogue in this many."""

Folds = Mapping[str, Sequence[Dialogue]]
"""Fold → its dialogues."""


def read_folds(prefix: str) -> Folds:
    """The dialogues of ``PREFIX_train.*``, ``PREFIX_valid.*`` and ``PREFIX_test.*``, whatever their format and ending.

    Only the first must be there: without the second every tenth dialogue is held out, without the third the second
    serves again. ``prefix`` may also be one file, which is then all there is.

    Raises:
        MaterialError: when there is no such file, more than one for a fold, or one that cannot be read.
    """
    found = {fold: _file(prefix, fold) for fold in FOLDS}
    train = found["train"] or (Path(prefix) if Path(prefix).is_file() else None)
    if train is None:
        raise MaterialError(
            f"{prefix}_train.*: there is no such file; expected dialogues to learn from there, and others, "
            f"if you have them, in {prefix}_valid.* and {prefix}_test.*"
        )
    folds = {"train": load_dialogues(train)}
    if found["valid"] is None:
        folds = _hold_out(folds["train"], train)
    else:
        folds["valid"] = load_dialogues(found["valid"])
    return {**folds, "test": folds["valid"] if found["test"] is None else load_dialogues(found["test"])}


def write_folds(prefix: Path, folds: Folds) -> dict[str, object]:
    """Write ``PREFIX_train.txt`` and so on; the answer are ParlAI's options that train on them."""
    prefix.parent.mkdir(parents=True, exist_ok=True)
    for fold, dialogues in folds.items():
        lines = [line for dialogue in dialogues for side in (0, 1) for line in _episode(dialogue, side)]
        Path(f"{prefix}_{fold}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return {
        "task": "fromfile:parlaiformat",
        "fromfile_datapath": str(prefix),
        "fromfile_datatype_extension": True,
    }


def _file(prefix: str, fold: str) -> Path | None:
    stem = Path(f"{prefix}_{fold}")
    # A metadata file may stand beside ParlAI's conversations; it holds no dialogues.
    files = [path for path in sorted(stem.parent.glob(f"{stem.name}.*")) if path.suffix != ".metadata"]
    if len(files) > 1:
        raise MaterialError(f"{stem}.*: expected one file, found {', '.join(path.name for path in files)}")
    return files[0] if files else None


def _hold_out(dialogues: Sequence[Dialogue], source: Path) -> dict[str, list[Dialogue]]:
    if len(dialogues) < 2:
        raise MaterialError(
            f"{source}: one dialogue is not enough; expected one to learn from and one to validate with"
        )
    kept = [index % HELD_OUT == 0 for index in range(len(dialogues))]
    return {
        "train": [dialogue for dialogue, out in zip(dialogues, kept, strict=True) if not out],
        "valid": [dialogue for dialogue, out in zip(dialogues, kept, strict=True) if out],
    }


def _episode(dialogue: Dialogue, side: int) -> Iterator[str]:
    """The dialogue as one of its speakers lived it, an exchange a line. ``side`` 0: the one who hears the first line."""
    texts = [line.text for line in dialogue.lines[side:]]
    pairs = list(zip(texts[::2], texts[1::2], strict=False))
    context = [_flat(line if side == 0 else _other_side(line)) for line in dialogue.context]
    for number, (heard, said) in enumerate(pairs, start=1):
        # ParlAI reads “\n” as the end of a line within a field.
        text = "\\n".join([*(context if number == 1 else []), _flat(heard)])
        yield f"text:{text}\tlabels:{_flat(said)}" + ("\tepisode_done:True" if number == len(pairs) else "")


def _other_side(line: str) -> str:
    """Of a persona, “your” and “partner's” swap; any other line is the same for both."""
    found = persona_line(line)
    if found is None:
        return line
    whose, sentence = found
    return f"{PARTNERS if whose == 'own' else OWN} {sentence}"


def _flat(text: str) -> str:
    """A tab or a line's end would end the field; a bar would begin another label."""
    return " ".join(text.replace("|", ",").split())
