"""Save the estimator and the model like those of ``pyspark.ml``, in any file system that Spark can write."""

from __future__ import annotations

import os
from typing import Any

from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReadable, MLReader, MLWritable, MLWriter

from mistakebound.spark.params import HasTraining
from mistakebound.spark.shards import from_bytes, to_bytes

MODEL = "model"
"""The folder of the learner's model file, as a DataFrame of one row."""


class Writable(MLWritable):
    """Has ``save`` and ``write``."""

    def write(self) -> MLWriter:
        """Return a writer."""
        return Writer(self)


class Readable(MLReadable[Any]):
    """Has ``load`` and ``read``."""

    @classmethod
    def read(cls) -> MLReader[Any]:
        """Return a reader."""
        return Reader(cls)


class Writer(MLWriter):
    """Writes the parameters as JSON, and the learner as a model file."""

    def __init__(self, instance: Any) -> None:
        super().__init__()
        self._instance = instance

    def saveImpl(self, path: str) -> None:  # noqa: N802 - pyspark's name
        """Write to a folder."""
        instance = self._instance
        without, learner = instance.copy(), instance.learner
        if isinstance(instance, HasTraining):
            learner = instance.getLearner()
            without.clear(without.learner)
            without._defaultParamMap.pop(without.learner, None)
        DefaultParamsWriter.saveMetadata(without, path, self.sparkSession)
        frame = self.sparkSession.createDataFrame([(bytearray(to_bytes(learner)),)], "model binary")
        frame.coalesce(1).write.parquet(os.path.join(path, MODEL))


class Reader(MLReader[Any]):
    """Reads what ``Writer`` wrote. Nothing in the files is executed."""

    def __init__(self, kind: type[Any]) -> None:
        super().__init__()
        self._kind = kind

    def load(self, path: str) -> Any:
        """Read a folder."""
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession, class_of(self._kind))
        (row,) = self.sparkSession.read.parquet(os.path.join(path, MODEL)).collect()
        learner = from_bytes(bytes(row["model"]))
        instance = self._kind()
        instance._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(instance, metadata)
        if isinstance(instance, HasTraining):
            instance._set(learner=learner)
        else:
            instance._learner = learner
        return instance


def class_of(kind: type[Any]) -> str:
    """Return the name of a class as the metadata has it."""
    return f"{kind.__module__}.{kind.__name__}"
