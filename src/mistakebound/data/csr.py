"""Read files into one sparse matrix (scipy CSR)."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.data.label_codes import every_label
from mistakebound.data.labels import label_array, plain_label
from mistakebound.errors import InputError

if TYPE_CHECKING:
    from mistakebound._support.arrays import AnyArray
    from mistakebound.data.parts import Part
    from mistakebound.data.reader import StreamReader

HEADROOM = 1.02
"""Memory is allocated for this multiple of the expected size, because rows differ."""


class GrowingArray:
    """An array that grows at its end, allocated for the expected size of all data.

    Memory that is never written costs nothing. The arrays that are added are copied.
    """

    def __init__(self, kind: type) -> None:
        self.kind, self.size = kind, 0
        self._all: AnyArray = np.empty(0, kind)

    def add(self, more: AnyArray, share: float) -> None:
        """Add an array; ``share`` is the share of all data read so far, including this array; 0 if it is not known."""
        size = self.size + len(more)
        if size > len(self._all):
            before = self._all
            try:
                self._all = np.empty(max(size, int(HEADROOM * size / share)) if share else 2 * size, self.kind)
            except MemoryError:  # the expected size may be wrong
                self._all = np.empty(size, self.kind)
            self._all[: self.size] = before[: self.size]
        self._all[self.size : size] = more
        self.size = size

    def array(self) -> AnyArray:
        """Return the array in its final size. Nothing can be added after that."""
        whole, self._all = self._all, np.empty(0, self.kind)
        whole.resize(self.size, refcheck=False)
        return whole


def matrix_of(reader: StreamReader, total: int | None) -> tuple[Any, AnyArray]:
    """Return a scipy CSR matrix and the labels; ``total`` is the size of all files in bytes, if it is known."""
    from scipy.sparse import csr_matrix  # noqa: PLC0415 - only this function needs it

    indptr, index, value, labels, width = (
        GrowingArray(np.int64),
        GrowingArray(np.int32),
        GrowingArray(np.float64),
        [],
        0,
    )
    indptr.add(np.zeros(1, np.int64), 0)
    for part in reader:
        chunk = part.chunk
        if chunk.named:
            message = "the features have names; only files with numbered features can be read into a matrix"
            raise InputError(message, file=part.file)
        end, share = int(chunk.indptr[part.rows]), reader.report.done / total if total else 0.0
        indptr.add(chunk.indptr[1 : part.rows + 1] + index.size, share)
        index.add(chunk.index[:end], share)
        value.add(chunk.value[:end], share)
        width = max(width, chunk.width)
        labels.append(labels_of(part))
        if part.error:
            raise part.error
    X = csr_matrix((value.array(), index.array(), indptr.array()), shape=(indptr.size - 1, width))
    return X, np.concatenate(labels) if labels else np.zeros(0)


def labels_of(part: Part) -> AnyArray:
    """Return the labels of the good rows."""
    if part.other_labels:
        texts = every_label(part.labels, part.label_ids, part.other_labels)
        return label_array(map(plain_label, islice(texts, part.rows)))
    known = label_array(plain_label(text) for text in part.labels)
    return np.asarray(known[np.frombuffer(part.label_ids[: part.rows], np.uint8)])
