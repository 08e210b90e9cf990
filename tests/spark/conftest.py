"""One Spark session for all tests of this folder. They are skipped if Spark cannot run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import spark_session


class WithoutSpark(pytest.Module):
    """A module of tests that is skipped, and not imported."""

    def collect(self) -> Any:
        pytest.skip(spark_session.missing() or "", allow_module_level=True)


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makemodule(module_path: Path, parent: Any) -> pytest.Module | None:
    return WithoutSpark.from_parent(parent, path=module_path) if spark_session.missing() else None


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    session = spark_session.start()
    yield session
    spark_session.stop(session)
