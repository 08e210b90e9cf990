"""Import numpy at its first use: the import takes 0.1 s, and many runs do not need it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["np"]

if TYPE_CHECKING:
    import numpy as np
else:

    class _Numpy:
        def __getattr__(self, name: str) -> Any:
            import numpy  # noqa: ICN001, PLC0415 - the purpose of this module

            found = getattr(numpy, name)
            setattr(self, name, found)  # the next access does not call __getattr__
            return found

    np = _Numpy()
