"""The name ``mistakebound.plot`` for the module ``mistakebound.viz.plot``, so that both imports give one module."""

import sys

from mistakebound.viz import plot

sys.modules[__name__] = plot
