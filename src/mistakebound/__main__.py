"""The command ``mistakebound``, which is also ``python -m mistakebound``."""

import gc

from mistakebound.cli import main


def start() -> None:
    """Run it as a process of its own."""
    gc.freeze()  # what is imported stays: nobody need look for garbage in it again and again, nor at the end
    main()


if __name__ == "__main__":
    start()
