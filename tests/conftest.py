"""Make the helpers in this folder importable, make hypothesis deterministic, and report skipped tests."""

import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # otherwise scikit-learn skips one of its checks
sys.path.insert(0, str(Path(__file__).parent))

# The same examples in every run, without deadlines. --hypothesis-profile=default searches new ones.
settings.register_profile("steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Iterator[None]:
    """Print in the last line how many tests were skipped, and why."""
    yield
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:  # the workers of xdist have none
        skipped = reporter.stats.get("skipped", [])
        reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in skipped)
        why = "; ".join(f"{count}: {reason}" for reason, count in reasons.most_common())
        reporter.write_line(f"skipped: {len(skipped)} ({why})" if skipped else "skipped: none")
