"""What went wrong, as one line for a person at a shell: fields of errors become options of the command line."""

from __future__ import annotations

import re
from contextlib import contextmanager
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from mistakebound._support.text import escaped
from mistakebound.data.labels import BY_CLASSES
from mistakebound.data.table_header import BY_HEADER
from mistakebound.errors import IGNORED, MissingColumnsError, OptionError, ResumeError

if TYPE_CHECKING:
    from collections.abc import Iterator

FLAGS = {"checkpoint": "--save"}
"""Options of a run that the command line calls otherwise."""
SKIPPING = " (--skip-bad N leaves out up to N bad lines)"


@contextmanager
def told() -> Iterator[None]:
    """What went wrong as one line and exit code 1 (2 for options); no traceback for what the user can mend."""
    try:
        yield
    except BrokenPipeError:  # the reader, such as head, has seen enough: that is no error
        raise
    except OSError as error:
        known = error.filename is not None and error.strerror is not None
        raise click.ClickException(f"{error.filename}: {error.strerror}" if known else str(error)) from None
    except OptionError as error:
        raise click.UsageError(reason_of(error)) from None
    except (ValueError, ImportError) as error:
        raise click.ClickException(reason_of(error)) from None
    except MemoryError as error:
        words = str(error).removeprefix("std::bad_alloc")
        raise click.ClickException(words or "there is not enough memory") from None


def reason_of(error: BaseException) -> str:
    """What went wrong. Of files, the line says where, and no round need."""
    if isinstance(error, MissingColumnsError):
        names, more = error.ignorable[:IGNORED], " ..." if len(error.ignorable) > IGNORED else ""
        return escaped(error.words(" ".join(f"--ignore {quote(name)}" for name in names) + more))
    if isinstance(error, OptionError):
        return escaped(re.sub(r"\{(\w+)\}", lambda found: flag(found[1]), error.template))
    if isinstance(error, ResumeError) and error.option is not None:
        return escaped(f"cannot resume from {error.path}: {changed(error.option, error.before, error.now)}")
    words = str(error).removeprefix(f"round {getattr(error, 'round', None)}: ")
    words += SKIPPING if getattr(error, "skippable", False) else ""
    return escaped(words.replace(BY_CLASSES, "say --classes NEGATIVE,POSITIVE").replace(BY_HEADER, "--header"))


def changed(name: str, before: Any, now: Any) -> str:
    """What is different in a run that should be resumed."""
    if name == "passes":
        return f"it had --passes {before}, not {now}"
    if name == "predictions":
        return f"its run was {'with' if before else 'without'} --predictions to a file, so this one must be, too"
    if name == "skip_bad":
        return f"it skipped {before} bad lines already: --skip-bad is too low"
    return f"its run had {option(name, before)}, this one has {option(name, now)}"


def flag(name: str) -> str:
    """The flag of an option.

    >>> flag("zero_based"), flag("checkpoint")
    ('--zero-based', '--save')
    """
    return FLAGS.get(name, f"--{name.replace('_', '-')}")


def option(name: str, value: Any) -> str:
    """An option as it is written on the command line.

    >>> option("zero_based", True), option("text", ["a", "b"]), option("bins", None), option("interact", [["a", "b"]])
    ('--zero-based', '--text a --text b', 'no --bins', '--interact a,b')
    """
    word = flag(name)
    if value is None or value is False or value in ([], ()):
        return "--no-header" if name == "header" and value is False else f"no {word}"
    if isinstance(value, (list, tuple)):
        return " ".join(f"{word} {each if isinstance(each, str) else ','.join(each)}" for each in value)
    return word if value is True else f"{word} {value}"
