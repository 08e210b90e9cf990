"""``mistakebound verify``: check a certificate by learning its stream again."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from mistakebound._support.text import escaped
from mistakebound.cli.help import Manual
from mistakebound.cli.options import THREADS
from mistakebound.errors import CertificateError

if TYPE_CHECKING:
    from mistakebound.runs.verification import Check

EXIT_CODES = """\b
Exit codes:
  0    everything agrees
  1    something differs, or a file cannot be read: the output says what
  2    the command line is wrong
  130  ended by Ctrl-C (143: by SIGTERM)"""
WIDTH = len("comparator: variables")
"""Width of the longest name of a check, except names of files."""


@click.command(cls=Manual, epilog=EXIT_CODES, short_help="Check a certificate by learning FILE again.")
@click.argument("certificate", type=click.Path(exists=True, dir_okay=False))
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--labels", metavar="FILE", help="The file of labels, if the run had one.")
@click.option(
    "--model",
    type=click.Path(exists=True, dir_okay=False),
    help="Also check that the model in this file is the one that is learned.",
)
@THREADS
def verify(certificate: str, files: tuple[str, ...], labels: str | None, model: str | None, threads: int) -> None:
    r"""Check a certificate by learning FILE again.

    CERTIFICATE is a file that "run --certificate" wrote. FILE... are the same files in the same order (- is standard
    input). They may be in another place, and compressed or not; Parquet and Arrow files must be equal byte for byte.
    The learner, its parameters and the options for parsing are taken from the certificate. Everything else is computed
    again from FILE, and compared. Each line of the output is one check. If anything differs, the exit code is 1.

    If a file was followed, lines that were added later do not matter. The seal is a checksum of the certificate: it
    detects accidents, not forgery. Learning the files again detects forgery.

    \b
    Example:
      mistakebound run stream.svm --save m.mb --certificate c.json
      mistakebound verify c.json stream.svm --model m.mb
    """
    from mistakebound.runs import verification  # noqa: PLC0415 - "--help" needs none of it

    name = escaped(certificate)
    try:
        found = verification.verify(certificate, files, labels, model, threads=threads, on_check=show)
    except CertificateError as error:
        message = f"{error} (the order is: verify CERTIFICATE FILE...)"
        raise click.ClickException(message) from None
    if found.complete is not None:
        click.echo(f"\nThe run did not keep all examples. With all of them:\n{found.complete}")
    if found.differ and found.differ == int(found.other_model):
        other = escaped(str(model))
        click.echo(f"\n{name} agrees with the stream, but {other} is not the model that is learned from it.")
        sys.exit(1)
    if not found.agrees:
        click.echo(f"\n{name} does not agree with the stream: {found.differ} of {len(found.checks)} checks differ")
        sys.exit(1)
    known = found.certificate
    click.echo(f"\n{name} agrees with the stream: {known.status} on the {known.scope}, {known.meaning()}.")


def show(check: Check) -> None:
    """Write one check as a line."""
    click.echo(f"{'✓' if check.agrees else '✗'} {escaped(check.what):{WIDTH}} {escaped(check.words)}")
