"""Inputs of models: a folder with NAME.npy for each, where / and : of the name are _."""

import os
import re

import numpy as np

from serve import Refused


def load(folder, names):
    """Pairs of array and name."""
    pairs = []
    for name in names:
        path = os.path.join(folder, re.sub("[/:]", "_", name) + ".npy")
        if not os.path.exists(path):
            raise Refused(f"there is no {path}")
        pairs.append((np.load(path), name))
    return pairs
