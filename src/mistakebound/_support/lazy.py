"""numpy, imported at its first use: the import takes a tenth of a second, and many runs do not need it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["np"]

if TYPE_CHECKING:
    import numpy as np
else:

    class _Numpy:
        def __getattr__(self, name: str) -> Any:
            import numpy  # noqa: ICN001, PLC0415

            found = getattr(numpy, name)
            setattr(self, name, found)  # the next time it is found without asking
            return found

    np = _Numpy()
