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

MORE = 1.02
"""Room for so much more than what was read so far tells: rows are not all alike."""


class Growing:
    """An array that grows by what is copied to its end, with room for all that seems to come.

    What is never written to is never paged in, and what was copied from can be used again at once.
    """

    def __init__(self, kind: type) -> None:
        self.kind, self.size = kind, 0
        self._all: AnyArray = np.empty(0, kind)

    def add(self, more: AnyArray, share: float) -> None:
        """Add these, after which this share of all is there."""
        need = self.size + len(more)
        if need > len(self._all):
            before = self._all
            try:
                self._all = np.empty(max(need, int(MORE * need / share)) if share else 2 * need, self.kind)
            except MemoryError:  # perhaps it was expected wrongly
                self._all = np.empty(need, self.kind)
            self._all[: self.size] = before[: self.size]
        self._all[self.size : need] = more
        self.size = need

    def array(self) -> AnyArray:
        """All of it, and no more; nothing can be added any more."""
        whole, self._all = self._all, np.empty(0, self.kind)
        whole.resize(self.size, refcheck=False)
        return whole


def matrix_of(reader: StreamReader, total: int | None) -> tuple[Any, AnyArray]:
    """A scipy CSR matrix and the labels; ``total`` are the bytes of all files, if that is known."""
    from scipy.sparse import csr_matrix  # noqa: PLC0415 - only who asks for it needs it

    indptr, index, value, labels, width = Growing(np.int64), Growing(np.int32), Growing(np.float64), [], 0
    indptr.add(np.zeros(1, np.int64), 0)
    for part in reader:
        chunk = part.chunk
        if chunk.named:
            message = "its features have names, and a matrix has none"
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
    """Those of the good rows."""
    if part.other_labels:
        texts = every_label(part.labels, part.label_ids, part.other_labels)
        return label_array(map(plain_label, islice(texts, part.rows)))
    known = label_array(plain_label(text) for text in part.labels)
    return np.asarray(known[np.frombuffer(part.label_ids[: part.rows], np.uint8)])
