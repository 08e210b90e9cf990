"""Importing the compiled core in a subinterpreter raises ImportError, because it cannot be used there."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

import pytest

CREATE = {
    "_interpreters": "interpreters.create('legacy')",
    "_xxsubinterpreters": "interpreters.create(isolated=False)",
}
MODULE = next((name for name in CREATE if find_spec(name)), "")
CODE = """
import {module} as interpreters
{before}
found = {create}
error = interpreters.run_string(found, '''
try:
    import mistakebound
except ImportError as error:
    assert "subinterpreter" in str(error), error
else:
    raise AssertionError("it was imported")
''')
assert error is None, error
interpreters.destroy(found)
import mistakebound
assert mistakebound.Perceptron().run([[1.0]], [1]).rounds == 1
"""


@pytest.mark.skipif(not MODULE, reason="this Python has no module for subinterpreters")
@pytest.mark.parametrize("before", ["", "import mistakebound"])
def test_importing_in_a_subinterpreter_is_rejected(before: str) -> None:
    """Whether or not the main interpreter has imported the package, which it can still use."""
    code = CODE.format(module=MODULE, create=CREATE[MODULE], before=before)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
