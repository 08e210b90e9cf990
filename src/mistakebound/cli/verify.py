"""``mistakebound verify``: replay the stream of a certificate, and derive everything in it again."""

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
  1    something does not, or cannot be read: the answer says what
  2    the command was not understood
  130  Ctrl-C (143: SIGTERM)"""


@click.command(cls=Manual, epilog=EXIT_CODES, short_help="Learn FILE again, and check a certificate.")
@click.argument("certificate", type=click.Path(exists=True, dir_okay=False))
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--labels", metavar="FILE", help="The labels, if they were in a file of their own.")
@click.option(
    "--model",
    type=click.Path(exists=True, dir_okay=False),
    help="Also check that the replay learns this model.",
)
@THREADS
def verify(certificate: str, files: tuple[str, ...], labels: str | None, model: str | None, threads: int) -> None:
    r"""Learn FILE again, and check a certificate.

    Everything is learned from nothing, and compared with what CERTIFICATE says.

    CERTIFICATE is what "run --certificate" wrote, FILE the same files in the same order (- is standard input), wherever
    they lie now and whether packed or not; Parquet and Arrow are the same byte for byte. How they are parsed, and the
    learner with its parameters, is taken from the certificate. Each line of the answer is one check; exit code 1 if
    anything differs. Of a file that was followed, what came later does not matter. The seal is a checksum of the
    certificate: it detects accidents, not forgery. The replay detects forgery.

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
        click.echo(f"\n{name} tells the truth of this stream, but {other} is not the model that was learned.")
        sys.exit(1)
    if not found.agrees:
        click.echo(f"\n{name} does not tell the truth of this stream: {found.differ} of {len(found.checks)} differ")
        sys.exit(1)
    known = found.certificate
    click.echo(f"\n{name} tells the truth of this stream: {known.status} on the {known.scope}, {known.meaning()}.")


def show(check: Check) -> None:
    """Write a line."""
    click.echo(f"{'✓' if check.agrees else '✗'} {escaped(check.what):16} {escaped(check.words)}")
