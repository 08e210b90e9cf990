"""Start the command ``mistakebound`` (also ``python -m mistakebound``)."""

import gc
import signal


def start() -> None:
    """Run the command in this process, which ends with it."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # unless the caller has set it to be ignored
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # while modules are imported, Ctrl-C may end at once
    from mistakebound._core import ignore_leaks  # noqa: PLC0415
    from mistakebound._support.signals import uninterrupted  # noqa: PLC0415
    from mistakebound.cli import main  # noqa: PLC0415

    ignore_leaks()  # objects that an error still refers to when the process ends
    gc.freeze()  # imported modules stay in memory, so garbage collection need not visit them
    try:
        main()
    finally:
        uninterrupted.ignore_further_signals()


if __name__ == "__main__":
    start()
