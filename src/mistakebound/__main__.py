"""``python -m mistakebound`` is the command ``mistakebound``."""

from mistakebound.cli import main

main()
