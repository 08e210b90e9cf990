"""Layout of ``--help``: options in sections, exit codes at the end."""

from __future__ import annotations

import click

PIPE_CLOSED = 141
"""Exit code if the reader of the output has ended. It is that of a shell: 128 + SIGPIPE."""

SECTIONS = {
    "The learner": (
        "learner",
        "eta",
        "alpha",
        "threshold",
        "p",
        "r",
        "update_margin",
        "bias",
        "classes",
        "class_weight",
    ),
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
    "The files": ("format", "label", "labels", "weight", "positive", "skip_bad", "zero_based", "cache", "threads"),
    "Columns of tables": (
        *("header", "separator", "auto", "text", "words", "letters", "bins", "categorical", "ignore", "interact"),
    ),
}
"""Sections of the help, in order, with the names of their options. All other options come after them."""

EXIT_CODES = """\b
Exit codes:
  0    success
  1    bad input: the message says where
  2    the command line is wrong
  130  ended by Ctrl-C (143: by SIGTERM)"""
RUN_EXIT_CODES = """\b
Exit codes:
  0    success
  1    bad input: the message says where; earlier rounds are counted and saved
  2    the command line is wrong
  130  ended by Ctrl-C (143: by SIGTERM); earlier rounds are counted and saved"""
"""Exit codes of commands that learn."""


def with_line_marks(text: str | None) -> str | None:
    r"""Replace the two characters ``\b`` of a raw docstring by click's mark for a paragraph that keeps its lines."""
    return None if text is None else text.replace("\\b\n", "\b\n")


class Manual(click.Command):
    """A command whose help groups the options in sections."""

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the text; examples and tables keep their lines."""
        self.help = with_line_marks(self.help)
        super().format_help_text(ctx, formatter)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options by section."""
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
