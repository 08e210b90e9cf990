"""Make the helpers in this folder importable."""

import os
import sys
from pathlib import Path

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # otherwise scikit-learn skips one of its checks
sys.path.insert(0, str(Path(__file__).parent))
