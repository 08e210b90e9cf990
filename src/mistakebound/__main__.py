"""The command ``mistakebound``, which is also ``python -m mistakebound``."""

import gc
import signal


def start() -> None:
    """Run it as a process of its own."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not if somebody wants it to be ignored
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # nothing is begun yet that would have to end in good order
    from mistakebound._core import ignore_leaks  # noqa: PLC0415
    from mistakebound._support.signals import uninterrupted  # noqa: PLC0415
    from mistakebound.cli import main  # noqa: PLC0415

    ignore_leaks()  # what an error still holds when the process ends
    gc.freeze()  # what is imported stays: nobody need look for garbage in it again and again, nor at the end
    try:
        main()
    finally:
        uninterrupted.ignore_further_signals()


if __name__ == "__main__":
    start()
