"""``python -m benchmarks.disclosures.learn``: learn the classifier anew, and write its weights (about ten seconds)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from benchmarks.disclosures.sentences import PACKAGED, learned_from
from parlai_humaneval.display.masking import BUCKETS, WEIGHTS, features

DRAWS = 4
"""The weights are the mean over so many draws of sentences, each in an order of its own: less depends on either."""
ROUNDS = 12
RATE = 0.5
SHRINK = 5e-3
THRESHOLD = 0.2
"""Chosen on what people say elsewhere, so that fewer than two of a hundred sentences are taken for a disclosure."""


def learned(seed: int) -> tuple[npt.NDArray[np.float64], float]:
    """The weights and the bias of a logistic regression, by AdaGrad."""
    sentences = learned_from(seed)
    found = [features(text) for text, _ in sentences]
    weights, slopes = np.zeros(BUCKETS), np.full(BUCKETS, 1e-8)
    bias, slope = 0.0, 1e-8
    order = np.random.default_rng(seed)
    for _ in range(ROUNDS):
        for at in order.permutation(len(sentences)):
            here = found[at]
            scale = 1 / np.sqrt(len(here))
            chance = 1 / (1 + np.exp(-bias - scale * weights[here].sum()))
            error = chance - sentences[at][1]
            gradient = error * scale + SHRINK * weights[here]
            slopes[here] += gradient**2
            weights[here] -= RATE * gradient / np.sqrt(slopes[here])
            slope += error**2
            bias -= RATE * error / np.sqrt(slope)
    return weights, bias


def main() -> None:
    draws = [learned(seed) for seed in range(DRAWS)]
    weights = np.mean([weights for weights, _ in draws], axis=0)
    scale = np.abs(weights).max() / 127
    np.savez_compressed(
        PACKAGED / WEIGHTS,
        weights=np.round(weights / scale).astype(np.int8),
        scale=np.float32(scale),
        bias=np.float32(np.mean([bias for _, bias in draws])),
        threshold=np.float32(THRESHOLD),
    )


if __name__ == "__main__":
    main()
