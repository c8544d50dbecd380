"""The data of the examples: scikit-learn's handwritten digits, 1,797 images of 8 by 8 pixels."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.datasets import load_digits

HELD_OUT = 297


def load() -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Reads the digits and sets some aside, the same ones each time.

    Returns:
        (images, labels) to train on and (images, labels) held out: float32[n, 8, 8] between 0
        and 1, int32[n].
    """
    pixels, digits = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(pixels))
    images = (pixels[order].reshape(-1, 8, 8) / 16).astype(np.float32)
    labels = digits[order].astype(np.int32)
    train = images[HELD_OUT:], labels[HELD_OUT:]
    return train, (images[:HELD_OUT], labels[:HELD_OUT])


def batches(
    images: np.ndarray, labels: np.ndarray, size: int, steps: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Draws ``steps`` batches of ``size`` images with their labels, the same ones each time."""
    rng = np.random.default_rng(1)
    for _ in range(steps):
        rows = rng.choice(len(images), size, replace=False)
        yield images[rows], labels[rows]
