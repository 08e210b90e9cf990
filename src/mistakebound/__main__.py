"""The command ``mistakebound``, which is also ``python -m mistakebound``."""

import gc
import signal


def start() -> None:
    """Run it as a process of its own."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # nothing is begun yet that Ctrl-C would have to end in good order
    from mistakebound.cli import main  # noqa: PLC0415
    from mistakebound.cli.interrupt import uninterrupted  # noqa: PLC0415

    gc.freeze()  # what is imported stays: nobody need look for garbage in it again and again, nor at the end
    uninterrupted.listen()
    main()


if __name__ == "__main__":
    start()
