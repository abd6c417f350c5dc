"""Writes digits.bin.gz from scikit-learn's copy of the UCI handwritten digits.

    pip install scikit-learn && python demos/digits/make_data.py

1797 rows of 65 bytes: an 8x8 image row by row (ink from 0 to 16), then its label (0 to 9).

Source: E. Alpaydin and C. Kaynak, "Optical Recognition of Handwritten Digits", UCI Machine
Learning Repository, https://doi.org/10.24432/C50P49, licence CC BY 4.0. The 1797 images are that
data set's test part, as packaged by scikit-learn (`sklearn.datasets.load_digits`, BSD-3-Clause).
"""

import gzip
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits


def main():
    images, labels = load_digits(return_X_y=True)
    rows = np.column_stack([images, labels]).astype(np.uint8)
    assert rows.shape == (1797, 65) and rows[:, :64].max() == 16 and rows[:, 64].max() == 9

    path = Path(__file__).with_name("digits.bin.gz")
    # mtime=0: the same data always gives the same file.
    path.write_bytes(gzip.compress(rows.tobytes(), compresslevel=9, mtime=0))
    print(f"{path.name}: {len(rows)} images, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
