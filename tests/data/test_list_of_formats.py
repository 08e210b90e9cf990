"""The list of formats stands once; the core, the command and the documentation agree with it."""

from __future__ import annotations

import click
import pytest

import mistakebound as mb
from mistakebound._core import Reader
from mistakebound.cli.options import READING
from mistakebound.data.formats import KNOWN
from mistakebound.data.options import FORMATS, LINE_FORMATS, TEXT_FORMATS
from mistakebound.errors import OptionError


@pytest.mark.parametrize("kind", LINE_FORMATS)
def test_the_core_reads_each_format_of_lines(kind: str) -> None:
    assert Reader(kind).columns == []
    assert LINE_FORMATS[kind] in KNOWN


def test_the_core_reads_no_other_format_of_lines() -> None:
    for kind in {*FORMATS, "wav"}.difference(LINE_FORMATS):
        with pytest.raises(ValueError, match=kind):
            Reader(kind)


def test_the_command_and_the_documentation_list_them() -> None:
    @click.command()
    @READING[0]
    def command() -> None: ...

    (option,) = command.params
    assert isinstance(option.type, click.Choice)
    assert tuple(option.type.choices) == TEXT_FORMATS
    listed = ", ".join(f'"{kind}"' for kind in TEXT_FORMATS)
    assert f"format : {{{listed}}}\n" in str(mb.Source.__doc__)


def test_another_format_is_refused_with_those_there_are() -> None:
    for kind in ("wav", "columnar"):
        with pytest.raises(OptionError, match=f"auto, svmlight, vw, table, json.* {kind}") as raised:
            mb.Source("a.csv", format=kind)
        assert (raised.value.kind, raised.value.value) == ("format", kind)
