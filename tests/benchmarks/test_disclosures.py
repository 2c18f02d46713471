"""The classifier of disclosures: its weights fit its sentences, and none of those that it is measured on is among them."""

from __future__ import annotations

from benchmarks.disclosures import key_of
from benchmarks.disclosures.sentences import HERE, learned_from, people, tuning
from parlai_humaneval.display.masking import packaged_model


def test_the_packaged_weights_fit_the_sentences_of_the_repository() -> None:
    """Guards against weights that were learned from other sentences, or are read in another way than they were learned."""
    model = packaged_model()
    drawn = [(text, model.score(text) > 0) for text, discloses in tuning(seed=1234) if discloses]
    assert sum(found for _, found in drawn) >= 0.95 * len(drawn)
    said = people()
    assert sum(model.tells(sentence) for sentence in said) <= 0.01 * len(said)


def test_nothing_is_measured_on_what_was_learned() -> None:
    """Guards the figures in the documentation."""
    held_out = {line.split("\t")[0] for line in (HERE / "held_out.tsv").read_text(encoding="utf-8").splitlines()}
    both = [text for seed in range(4) for text, _ in learned_from(seed) if key_of(text) in held_out]
    assert held_out
    assert not both, set(both)
