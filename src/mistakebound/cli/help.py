"""Layout of ``--help``: options in sections, exit codes at the end."""

from __future__ import annotations

import click

UNREAD = 141
"""Exit code when nobody reads the output any more, as of a shell."""

SECTIONS = {
    "The learner": ("learner", "eta", "alpha", "threshold", "p", "update_margin", "bias", "classes"),
    "The forecasts": ("outcome", "positive_outcome", "names", "class_names", "ahead", "failing"),
    "The rules": ("rules", "loss", "no_gradient", "rate", "share", "beta", "rates", "penalty", "seed"),
    "The run": (
        "passes",
        "follow",
        "load_from",
        "save_to",
        "checkpoint_every",
        "resume",
        "predictions",
        "report",
        "certify",
        "certificate_to",
        "relevant",
        "as_json",
    ),
    "The files": ("format", "label", "labels", "positive", "skip_bad", "zero_based", "cache", "threads"),
    "Columns of tables": (
        *("header", "separator", "text", "words", "letters", "bins", "categorical", "ignore", "interact"),
    ),
}
"""Options by what they are about, in the order of the help; all others come after them."""

EXIT_CODES = """\b
Exit codes:
  0    all is well
  1    bad input: the message says where; what came before it is learned and saved
  2    the command was not understood
  130  Ctrl-C: what was learned is counted and saved (143: the same after SIGTERM)"""


def kept_as_written(text: str | None) -> str | None:
    """Turn the two characters that raw docstrings have for click's mark of such paragraphs into the mark itself."""
    return None if text is None else text.replace("\\b\n", "\b\n")


class Manual(click.Command):
    """A command whose help has sections."""

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the text, with examples and tables line by line."""
        self.help = kept_as_written(self.help)
        super().format_help_text(ctx, formatter)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, section by section."""
        section_of = {name: title for title, names in SECTIONS.items() for name in names}
        known: dict[str, list[tuple[str, str]]] = {title: [] for title in (*SECTIONS, "Options")}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                known[section_of.get(parameter.name or "", "Options")].append(record)
        for title, records in known.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
