"""Tables and JSON lines, as the core reads them: each promise by hand, then against Python's own csv and json."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import random
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
from files import data
from hypothesis import example, given, settings
from hypothesis import strategies as st

import mistakebound as mb
from mistakebound import _core

MISSING = {"", "?", "NA", "nan", "NaN", "null"}


def rows_of(text: str | bytes, **options: Any):
    """Labels and features of a table that has nothing bad in it."""
    rows, bads, _ = _core.parse_table(text.encode() if isinstance(text, str) else text, **options)
    assert bads == []
    return [(label, features) for label, features, _ in rows]


def features_of(text: str | bytes, **options: Any):
    return [features for _, features in rows_of(text, **options)]


def bads_of(text: str | bytes, **options: Any):
    return _core.parse_table(text.encode() if isinstance(text, str) else text, **options)[1]


def json_rows(text: str | bytes, **options: Any):
    rows, bads = _core.parse_json_lines(text.encode() if isinstance(text, str) else text, **options)
    assert bads == []
    return [(label, features) for label, features, _ in rows]


def json_bad(text: str | bytes, **options: Any):
    rows, bads = _core.parse_json_lines(text.encode() if isinstance(text, str) else text, **options)
    assert rows == []
    ((_, column, what),) = bads
    return column, what


# ---- tables: fields


def test_a_number_is_its_column_and_anything_else_a_category():
    text = "a,b,c,y\n1.5,red,-2e1,yes\n+3,1.5x,0x10,no\n.5,5.,1 2,no\n"
    assert rows_of(text, label="y") == [
        ("yes", {"a": 1.5, "b=red": 1, "c": -20}),
        ("no", {"a": 3, "b=1.5x": 1, "c=0x10": 1}),
        ("no", {"a": 0.5, "b": 5, "c=1 2": 1}),
    ]


def test_two_signs_are_not_a_number():
    assert features_of("a,b,c\n+-1,++1,+\n") == [{"a=+-1": 1, "b=++1": 1, "c=+": 1}]


def test_zeros_and_missing_marks_are_left_out():
    text = "a,b,c,d,e,f,g,h,i\n0,-0.0,?,NA,nan,NaN,null,,1e-999\n"
    assert features_of(text) == [{}]
    assert features_of("a,b\nNA,-\n", missing=["-"]) == [{"a=NA": 1}]
    assert features_of("a,b\n,x\n", missing=[]) == [{"a=": 1, "b=x": 1}]


@pytest.mark.parametrize(
    "field", ["inf", "-inf", "+inf", "Infinity", "NAN", "-nan", "1e999", "-1e999", "1" * 400, "0." + "0" * 9 + "1e400"]
)
def test_what_is_not_finite_is_bad(field):
    ((line, column, what),) = bads_of(f"a,b\n1,{field}\n")
    assert (line, column) == (2, 3)
    assert all(name in what for name in (f"'{field}'", "'b'", "finite"))
    assert features_of(f"a,b\n1,{field}\n", categorical=["b"]) == [{"a": 1, f"b={field}": 1}]


@pytest.mark.parametrize("field", ["0." + "0" * 400 + "1", "1e-99999999999999999999", "1" + "0" * 400 + "e-900"])
def test_a_number_too_small_for_a_double_is_zero(field):
    assert features_of(f"a\n{field}\n") == [{}]


def test_a_declared_category_is_one_whatever_it_looks_like():
    assert features_of("shape,size\n1,1\n0,0\n", categorical=["shape"]) == [{"shape=1": 1, "size": 1}, {"shape=0": 1}]


def test_ignored_columns_are_not_read():
    assert features_of(b"id,a\ninf,1\n\xff,2\n", ignore=["id"]) == [{"a": 1}, {"a": 2}]


def test_the_label_is_kept_as_written():
    assert rows_of('y,a\n+1,1\n1.50,1\n" a ""b""",1\n?,1\n', label="y") == [
        ("+1", {"a": 1}),
        ("1.50", {"a": 1}),
        (' a "b"', {"a": 1}),
        ("", {"a": 1}),
    ]
    assert rows_of("y,a\n1,2\n") == [("", {"y": 1, "a": 2})]


def test_columns_are_named_by_name_first_and_else_by_number():
    assert rows_of("2,1\nx,y\n", label="2") == [("x", {"1=y": 1})]
    assert rows_of("a,b\nx,y\n", label="2") == [("y", {"a=x": 1})]


def test_without_a_header_columns_are_numbered():
    rows, bads, columns = _core.parse_table(b"x,1\ny,2\n", header=False, label="1")
    assert columns == ["c1", "c2"]
    assert bads == []
    assert rows == [("x", {"c2": 1}, 1), ("y", {"c2": 2}, 2)]


def test_a_column_without_a_name_is_called_by_its_number():
    assert features_of(",a\n7,x\n") == [{"c1": 7, "a=x": 1}]


# ---- tables: quoting and lines


def test_quotes_hold_separators_quotes_and_newlines():
    text = 'a,"b,c",d\n"x,y","say ""hi""","two\nlines"\n"",plain"quote,"5"\n'
    assert features_of(text) == [
        {"a=x,y": 1, 'b,c=say "hi"': 1, "d=two\nlines": 1},
        {'b,c=plain"quote': 1, "d": 5},
    ]


def test_blanks_around_a_field_are_removed():
    """As in UCI's adult.data. Between quotes they are; a quote may come after them, and they after a quote."""
    text = 'a, b ,y\n 1,\tx y , <=50K\n1 ," x ", ">50K" \n , "two\nlines, ""so""" ,\t\n \t\n'
    wanted = [("<=50K", {"a": 1, "b=x y": 1}), (">50K", {"a": 1, "b= x ": 1}), ("", {'b=two\nlines, "so"': 1})]
    assert rows_of(text, label="y") == wanted
    assert (
        rows_of(text.replace(", ", ";").replace(",", ";").replace("lines;", "lines, "), label="y", separator=";")
        == wanted
    )
    assert features_of('a\tb\n 1\t x y \n"2" \t"x\n', separator="\t") == [{"a": 1, "b=x y": 1}, {"a": 2, 'b="x': 1}]
    assert bads_of('a,b\n1, "x" y\n')[0][:2] == (2, 8)


def test_lines_end_in_lf_or_crlf_or_with_the_text():
    for text in ("a,b\n1,x\n2,y\n", "a,b\r\n1,x\r\n2,y\r\n", "a,b\n1,x\r\n2,y", 'a,b\r\n1,"x"\r\n2,"y"'):
        assert features_of(text) == [{"a": 1, "b=x": 1}, {"a": 2, "b=y": 1}]


def test_each_row_has_the_line_it_begins_on():
    rows, bads, _ = _core.parse_table(b'a,b\n1,"x\n\ny"\n\n2,z\n3\n')
    assert [line for _, _, line in rows] == [2, 6]
    assert [line for line, _, _ in bads] == [7]


def test_blank_lines_are_skipped():
    assert features_of("\n\na,b\n\n1,2\n\r\n3,4\n\n") == [{"a": 1, "b": 2}, {"a": 3, "b": 4}]
    assert features_of("a b\n   \n1 2\n", separator=" ") == [{"a": 1, "b": 2}]


def test_a_byte_order_mark_opens_a_file_and_nothing_else():
    mark = b"\xef\xbb\xbf"
    assert features_of(mark + b'"a\nb",c\n1,2\n') == [{"a\nb": 1, "c": 2}]
    assert features_of(mark + b"1,2\n", header=False) == [{"c1": 1, "c2": 2}]
    assert features_of(b"a,b\n" + mark + b"1,2\n") == [{"a=\ufeff1": 1, "b": 2}]
    assert bads_of(mark + b"1,2\n1,inf\n", header=False)[0][:2] == (2, 3)
    assert bads_of(mark + b"1,inf\n", header=False)[0][:2] == (1, 6)


def test_runs_of_spaces_are_one_separator():
    text = ' 1  1 "a  b"   data_5 \n0 1 "" x\n'
    assert rows_of(text, separator=" ", header=False, label="1") == [
        ("1", {"c2": 1, "c3=a  b": 1, "c4=data_5": 1}),
        ("0", {"c2": 1, "c4=x": 1}),
    ]


def test_other_separators_are_plain_characters():
    assert features_of("a;b\n1,5;x\ty z\n", separator=";") == [{"a=1,5": 1, "b=x\ty z": 1}]


def test_in_tab_separated_text_a_quote_that_does_not_close_its_field_is_a_character():
    text = 'y\tt\n1\t"quoted\tfield"\n2\t"not closed\n3\t"said" he\n4\tsay "hi"\n5\t"twice ""so"" "\n6\t"\n'
    assert features_of(text, separator="\t", ignore=["y"]) == [
        {"t=quoted\tfield": 1},
        {'t="not closed': 1},
        {'t="said" he': 1},
        {'t=say "hi"': 1},
        {'t=twice "so" ': 1},
        {'t="': 1},
    ]


@pytest.mark.parametrize(
    ("record", "column", "what"),
    [
        ("1,2", 4, r"\b2\b.*\b3\b"),
        ("1,2,", None, None),
        ("1,2,3,4,5", 7, r"fields.*\b3\b"),
        ('1,"2"x,3', 6, "text.*quote"),
        ('1,"2" x,3', 7, "text.*quote"),
        ('1,2,"3', 5, "quote"),
        (b"1,x\xff,3", 4, "UTF-8"),
        (b'"a""\xc3",2,3', 5, "UTF-8"),
        (b"1,2,\xed\xa0\x80", 5, "UTF-8"),
    ],
)
def test_errors_of_bad_records_have_line_and_column(record, column, what):
    record = record.encode() if isinstance(record, str) else record
    rows, bads, _ = _core.parse_table(b"a,b,c\n7,8,9\n" + record)
    assert rows[0] == ("", {"a": 7, "b": 8, "c": 9}, 2)
    if what is None:
        assert bads == []
        assert rows[1:] == [("", {"a": 1, "b": 2}, 3)]
    else:
        ((*place, message),) = bads
        assert place == [3, column]
        assert re.search(what, message)
        assert len(rows) == 1


def test_a_label_that_is_not_utf8_is_bad():
    ((line, column, what),) = bads_of(b"y,a\n\xff,1\n", label="y")
    assert (line, column) == (2, 1)
    assert "UTF-8" in what


def test_records_after_a_bad_one_are_read():
    rows, bads, _ = _core.parse_table(b'a,b\n1,2\n"x"y,1\n1,inf\n3,4\n')
    assert [features for _, features, _ in rows] == [{"a": 1, "b": 2}, {"a": 3, "b": 4}]
    assert [line for line, _, _ in bads] == [3, 4]


# ---- tables: options


@pytest.mark.parametrize("option", ["label", "ignore", "text_columns", "categorical", "interact"])
@pytest.mark.parametrize("name", ["z", "0", "3", "-1", "1x"])
def test_the_error_of_an_unknown_column_lists_the_columns(option, name):
    value = {"label": name, "interact": [("a", name)]}.get(option, [name])
    with pytest.raises(ValueError, match=f"column '{name}'.*a, b"):
        _core.parse_table(b"a,b\n1,2\n", **{option: value})


@pytest.mark.parametrize(
    ("text", "options", "what"),
    [
        (b"a,a\n1,2\n", {}, "'a'.*two columns"),
        (b'a,"b\n', {}, "quote.*first line.*byte 3"),
        (b"a,\xff\n", {}, "column 2 .*UTF-8"),
        (b"a,b\n1,2\n", {"text_columns": ["a"], "categorical": ["a"]}, "'a'.*label, weight, ignore, text.*categorical"),
        (b"a,b\n1,2\n", {"label": "a", "ignore": ["1"]}, "'1'.*label, weight, ignore, text.*categorical"),
        (b"a,b\n1,2\n", {"label": "a", "interact": [("a", "b")]}, "'a'.*interact.*label.*ignored"),
        (b"a,b\n1,2\n", {"interact": [("a", "a")]}, "'a'.*interact.*itself"),
        (b"a,b\n1,2\n", {"interact": [("a", "b"), ("1", "2")]}, "interact.*'1' and '2'"),
        (b"a,b\n1,2\n", {"words": -1}, "words .*-1"),
        (b"a,b\n1,2\n", {"separator": '"'}, "^separator .*quote"),
    ],
)
def test_invalid_options_are_rejected(text, options, what):
    with pytest.raises(ValueError, match=what):
        _core.parse_table(text, **options)


def test_a_name_from_two_fields_is_bad_and_leaves_nothing():
    for text in ("a=x,a,b\n1,x,2\n3,y,4\n", "a,a=x,b\nx,1,2\ny,3,4\n"):
        rows, bads, _ = _core.parse_table(text.encode())
        ((line, _, what),) = bads
        assert line == 2
        assert "'a=x'" in what
        assert [features for _, features, _ in rows] == [{"a=x": 3, "a=y": 1, "b": 4}]


@pytest.mark.parametrize(("text", "column"), [("t,t=x\nx,1\n", 3), ("t=x,t\n1,x\n", 3)])
def test_a_word_that_is_also_another_column_is_bad(text, column):
    ((_, where, what),) = bads_of(text, text_columns=["t"])
    assert where == column
    assert "'t'" in what or "'t=x'" in what


# ---- texts


def test_words_are_lowered_and_each_counts_once():
    text = 't\n"FREE entry, free! it\'s $100... na\u00efve \u00c9T\u00c9_x"\n'
    words = ["free", "entry", "free!", "it's", "$100", "na\u00efve", "\u00c9t\u00c9", "x"]
    assert features_of(text, text_columns=["t"]) == [{f"t={word}": 1 for word in words}]


def test_runs_of_words_are_joined_by_a_space():
    assert list(features_of("t\nOne; two.  ONE two\n", text_columns=["t"], words=3)[0]) == [
        "t=one",
        "t=one two",
        "t=one two one",
        "t=two",
        "t=two one",
        "t=two one two",
    ]


def test_runs_of_characters_cross_words_and_never_cut_a_character():
    text = "t\n\u00c0b! \u20acc\n"
    assert list(features_of(text, text_columns=["t"], words=0, letters=3)[0]) == [
        "t~\u00c0b!",
        "t~b! ",
        "t~! \u20ac",
        "t~ \u20acc",
    ]
    assert features_of("t\nab\n", text_columns=["t"], words=1, letters=3) == [{"t=ab": 1}]
    assert features_of("t\nabab\n", text_columns=["t"], words=0, letters=2) == [{"t~ab": 1, "t~ba": 1}]


def test_a_long_text_is_read_whole():
    words = [f"w{k % 5000}" for k in range(20000)]
    assert features_of("t\n" + " ".join(words) + "\n", text_columns=["t"]) == [
        dict.fromkeys((f"t={w}" for w in words), 1)
    ]


@settings(deadline=None)
@given(st.text(alphabet="aBz0$!' .-\u00e9\u20ac", max_size=30), st.integers(0, 4), st.integers(0, 4))
def test_words_are_those_of_a_regular_expression(text, words, letters):
    tokens = re.findall(r"[a-z0-9$!'\u0080-\U0010ffff]+", re.sub("[A-Z]", lambda m: m[0].lower(), text))
    grams = (
        " ".join(tokens[k : k + n]) for k in range(len(tokens)) for n in range(1, words + 1) if k + n <= len(tokens)
    )
    plain = " ".join(tokens)
    pieces = (plain[k : k + letters] for k in range(len(plain) - letters + 1) if letters)
    expected = {f"t={gram}" for gram in grams} | {f"t~{piece}" for piece in pieces}
    if text in MISSING:
        expected = set()
    table = f'x,t\n1,"{text}"\n'
    assert set(features_of(table, text_columns=["t"], ignore=["x"], words=words, letters=letters)[0]) == expected
    ((_, features),) = json_rows(json.dumps({"t": text}), text_keys=["t"], words=words, letters=letters)
    if text not in MISSING:
        assert set(features) == expected


# ---- interactions


def test_interactions_are_products_of_all_pairs():
    text = "a,b,t\n2,x,one two\n3,-4,one\n0,x,\n"
    options = {"text_columns": ["t"], "interact": [("a", "b"), ("b", "t")]}
    assert features_of(text, **options) == [
        {"a": 2, "b=x": 1, "t=one": 1, "t=two": 1, "a*b=x": 2, "b=x*t=one": 1, "b=x*t=two": 1},
        {"a": 3, "b": -4, "t=one": 1, "a*b": -12, "b*t=one": -4},
        {"b=x": 1},
    ]


def test_a_product_may_be_too_large_or_too_small():
    ((line, _, what),) = bads_of("a,b\n1e200,1e200\n", interact=[("a", "b")])
    assert line == 2
    assert re.search(r"'a\*b'.*finite", what)
    assert features_of("a,b\n1e-200,1e-200\n", interact=[("a", "b")]) == [{"a": 1e-200, "b": 1e-200}]


# ---- against Python's csv


NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)


def expected_features(columns, fields):
    """What the row should give, or None if it is bad."""
    found = {}
    for column, field in zip(columns, fields, strict=True):
        if field in MISSING:
            continue
        if NUMBER.fullmatch(field):
            if not math.isfinite(float(field)):
                return None
            if float(field) != 0:
                found[column] = float(field)
        elif re.fullmatch(r"[+-]?(inf|infinity|nan)", field, re.IGNORECASE):
            return None
        else:
            found[f"{column}={field}"] = 1.0
    return found


nasty_fields = st.one_of(
    st.text(alphabet=',;" \t\na1.e-\u00e9', max_size=6),
    st.floats().map(repr),
    st.integers().map(str),
    st.sampled_from(["", "?", "NA", "inf", "-NaN", "1e999", "+1", "+-1", ".", "1.", "x\r\ny", "1e400", "1e-400"]),
)


@settings(max_examples=300, deadline=None)
@given(
    st.integers(1, 5).flatmap(lambda n: st.lists(st.lists(nasty_fields, min_size=n, max_size=n), max_size=6)),
    st.sampled_from([(",", "\n"), (";", "\r\n"), (" ", "\n")]),
    st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
)
def test_files_of_the_csv_module_are_read(table, dialect, quoting):
    separator, newline = dialect
    written = io.StringIO(newline="")
    quoting = csv.QUOTE_ALL if separator == " " else quoting  # Python does not quote an empty field between spaces
    csv.writer(written, delimiter=separator, lineterminator=newline, quoting=quoting).writerows(table)
    rows, bads, _ = _core.parse_table(written.getvalue().encode(), separator=separator, header=False)
    columns = [f"c{k + 1}" for k in range(len(table[0]) if table else 0)]
    special = f'{separator}"\r\n'

    def written_as(field):  # blanks around a field that is not quoted are no part of it
        return field if quoting == csv.QUOTE_ALL or any(c in field for c in special) else field.strip(" \t")

    read = [
        [written_as(field) for field in fields]
        for fields in table
        if len(fields) > 1 or fields[0].strip(" \t") or not fields[0]
    ]
    wanted = [expected_features(columns, fields) for fields in (table if quoting == csv.QUOTE_ALL else read)]
    assert [features for _, features, _ in rows] == [features for features in wanted if features is not None]
    assert len(bads) == wanted.count(None)
    assert all("finite" in what for _, _, what in bads)


@settings(max_examples=2000, deadline=None)
@given(st.text(alphabet='a1",\n', max_size=24), st.sampled_from(["\n", "\r\n"]))
@example('""",\n""\n', "\n")
@example('a\n"\n', "\n")
def test_raw_text_is_cut_as_python_cuts_it(text, newline):
    text = text.replace("\n", newline)
    rows, bads, columns = _core.parse_table(b"c1,c2\n" + text.encode())
    rows = [(features, line) for _, features, line in rows]
    bad_lines = {line for line, _, _ in bads}
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    wanted = []
    wrong_size = set()
    while True:
        line = reader.line_num + 2
        try:
            fields = next(reader)
        except StopIteration:
            break
        except csv.Error:  # here Python stops; so does the comparison
            assert line in bad_lines
            assert rows[: len(wanted)] == wanted
            return
        if not fields:
            continue
        if len(fields) != len(columns):
            wrong_size.add(line)
            continue
        wanted.append((expected_features(columns, fields), line))
    assert rows == wanted
    assert bad_lines == wrong_size


# ---- sniffing


@pytest.mark.parametrize(
    ("beginning", "separator", "header"),
    [
        (b"a,b\n1,2\n", ",", True),
        (b"a,b\n1,2", ",", True),
        (b"a;b\n1;2,5\n3;4,5\n", ";", True),
        (b"a\tb, c\nx\t1\n", "\t", True),
        (b"1 2\n3 4\n", " ", False),
        (b"a,b\n", ",", False),
        (b"", ",", False),
        (b"5\n7\n", ",", False),
        (b"\xef\xbb\xbf1,2\n3,4\n", ",", False),
        (b"\xef\xbb\xbfa,b\n3,4\n", ",", True),
        (b",a\n0,x\n1,y\n", ",", True),
        (b"a,a\n1,2\n", ",", True),
        (b"a,a,b\n" + b"x,y,z\nx,y,w\n" * 3, ",", False),
        (b"a,?\n1,2\n", ",", False),
        (b"country,1990\nx,5\n", ",", False),
        (b"x,5\nx,6\n", ",", False),
        (b'"a, b","c\nd"\n"x, y",1\n"z, z",2\n', ",", True),
        (b"c,d,e\n" + b"x,y,z\nx,y,w\n" * 3, ",", True),
        (b"x,y,w\n" + b"x,y,z\nx,y,w\n" * 3, ",", False),
        (b"spam,hello there\n" + b"ham,see you\nham,no way\n" * 3, ",", False),
        (b"a,b\n1,2\nragged\n3,4\n", ",", True),
    ],
)
def test_separator_and_header_are_detected(beginning, separator, header):
    assert _core.sniff_table(beginning) == (separator, header)


def beginning_of(name: str) -> bytes:
    path = data(name)
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            return archive.read("ppattach/training")[:65536]
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        return file.read(65536)


@pytest.mark.parametrize(
    ("name", "separator", "header", "columns"),
    [
        ("mushroom/agaricus-lepiota.data.gz", ",", False, 23),
        ("house_votes_84/house-votes-84.data", ",", False, 17),
        *((f"monks/monks-{k}.{part}", " ", False, 8) for k in (1, 2, 3) for part in ("train", "test")),
        ("elec2/elec2_data.dat.gz", " ", False, 8),
        ("elec2/elec2_label.dat.gz", ",", False, 1),
        ("kdd99_10pct/kddcup.data_10_percent.gz", ",", False, 42),
        ("sms_spam/SMSSpamCollection.gz", "\t", False, 2),
        ("epl_odds/epl_experts.csv.gz", ",", True, 38),
        ("opera_load/electric_load.csv", ",", True, 11),
        ("opera_load/national_load_65experts.csv.gz", ",", True, 67),
        ("niamey_pop/precip_Niamey_2016.csv", ",", True, 6),
        ("ppattach/ppattach.zip", " ", False, 6),
    ],
)
def test_separator_and_header_of_real_tables(name, separator, header, columns):
    beginning = beginning_of(name)
    for size in (4096, 65536):
        assert _core.sniff_table(beginning[:size]) == (separator, header)
    whole_lines = beginning[: beginning.rindex(b"\n") + 1]
    rows, bads, names = _core.parse_table(whole_lines, separator=separator, header=header)
    assert bads == []
    assert len(names) == columns
    assert len(rows) == whole_lines.count(b"\n") - header


def test_a_text_with_quotes_is_one_row():
    with gzip.open(data("sms_spam/SMSSpamCollection.gz")) as file:
        text = file.read()
    rows = rows_of(text, separator="\t", header=False, label="1", text_columns=["2"])
    assert len(rows) == 5574
    assert sum(label == "spam" for label, _ in rows) == 747


# ---- JSON lines


def test_objects_are_flattened_with_dots():
    text = '{"a":{"b":1.5,"c":{"d":"x y"}},"e":-2,"t":true,"f":false,"n":null,"z":0,"s":""}\n'
    assert json_rows(text) == [("", {"a.b": 1.5, "a.c.d=x y": 1, "e": -2, "t": 1, "s=": 1})]


def test_arrays_give_items_numbers_and_paths():
    text = '{"s":["x","y"],"n":[1,0,3],"o":[{"b":1},{"b":2}],"m":["x",5,[6,["z"]],true,null],"e":[],"f":{}}'
    assert json_rows(text) == [
        (
            "",
            {
                "s=x": 1,
                "s=y": 1,
                "n.0": 1,
                "n.2": 3,
                "o.0.b": 1,
                "o.1.b": 2,
                "m=x": 1,
                "m.1": 5,
                "m.2.0": 6,
                "m.2.1=z": 1,
                "m.3": 1,
            },
        )
    ]


@pytest.mark.parametrize(
    ("label", "written"),
    [
        ('"spam"', "spam"),
        (r'"a\"b\u00e9"', 'a"b\u00e9'),
        ("1.50", "1.50"),
        ("-1E2", "-1E2"),
        ("true", "true"),
        ("false", "false"),
        ("null", ""),
        ("0", "0"),
    ],
)
def test_the_label_of_an_object_is_kept_as_written(label, written):
    assert json_rows(f'{{"m":{{"y":{label},"a":1}}}}', label="m.y") == [(written, {"m.a": 1})]
    assert json_rows(f'{{"m.y":{label},"m":{{"a":1}}}}', label="m.y", ignore=["m"]) == [(written, {})]


def test_an_object_without_the_label_has_none():
    assert json_rows('{"a":1}', label="y") == [("", {"a": 1})]


def test_ignored_keys_give_nothing_below_them_either():
    text = '{"a":{"b":1,"c":[1,"x"]},"ab":1,"d":{"e":2,"f":3}}'
    assert json_rows(text, ignore=["a", "d.e"]) == [("", {"ab": 1, "d.f": 3})]


def test_escapes_are_undone_in_keys_and_strings():
    text = r'{"k\u00e9y\/":"\"\\\/\b\f\n\r\t\u0041\ud83d\ude00\u20ac"}'
    assert json_rows(text) == [("", {'k\u00e9y/="\\/\b\f\n\r\tA\U0001f600\u20ac': 1})]


def test_a_text_key_gives_words_each_once():
    text = '{"m":{"t":"Win, WIN \\u00e9t\\u00e9"},"l":["one two","two three"]}'
    assert json_rows(text, text_keys=["m.t", "l"]) == [
        ("", {"m.t=win": 1, "m.t=\u00e9t\u00e9": 1, "l=one": 1, "l=two": 1, "l=three": 1})
    ]
    assert list(json_rows('{"t":"ab cd"}', text_keys=["t"], words=2, letters=4)[0][1]) == [
        "t=ab",
        "t=ab cd",
        "t=cd",
        "t~ab c",
        "t~b cd",
    ]


@pytest.mark.parametrize(
    ("text", "column", "what"),
    [
        ('{"a":1,"a":2}', 12, "'a'"),
        ('{"a":{"b":1},"a.b":2}', 20, "'a.b'"),
        ('{"a":["x","x"]}', 11, "'a=x'"),
        ('{"a":"x","a=x":1}', 16, "'a=x'"),
        ('{"t":"x","t":"x y"}', 14, "word.*'t'"),
        ('{"t=x":1,"t":"x"}', 14, "word.*'t'"),
        ('{"y":1,"y":1}', 12, "'y'"),
        ('{"y":[1]}', 6, "label"),
        ('{"y":{}}', 6, "label"),
        ("[1]", 1, "object"),
        ("1", 1, "object"),
        ("{", 2, "key"),
        ('{"a":1,}', 8, "key"),
        ("{a:1}", 2, "key"),
        ('{"a" 1}', 6, "':'"),
        ('{"a":}', 6, "value"),
        ('{"a":NaN}', 6, "value"),
        ('{"a":+1}', 6, "value"),
        ('{"a":.5}', 6, "value"),
        ('{"a":tru}', 6, "value"),
        ('{"a":[1,]}', 9, "value"),
        ('{"a":1 "b":2}', 8, "','.*'}'"),
        ('{"a":01}', 7, "','.*'}'"),
        ('{"a":[1 2]}', 9, "','.*']'"),
        ('{"a":-}', 7, "digit"),
        ('{"a":1.}', 8, "digit"),
        ('{"a":1e}', 8, "digit"),
        ('{"a":1e+}', 9, "digit"),
        ('{"a":1e999}', 6, "'1e999'.*finite"),
        ('{"a":"x}', 6, "string.*closed"),
        ('{"a":"x\\"}', 6, "string.*closed"),
        ('{"a":"x\ty"}', 8, "control character"),
        (r'{"a":"\x"}', 7, "escape"),
        (r'{"a":"\u12g4"}', 7, "escape"),
        (r'{"a":"\u-123"}', 7, "escape"),
        (r'{"a":"\u12"}', 7, "escape"),
        (r'{"a":"\ud800"}', 7, "surrogate"),
        (r'{"a":"\ud800\u0041"}', 7, "surrogate"),
        (r'{"a":"\udc00\ud800"}', 7, "surrogate"),
        ('{"a":1} x', 9, "text.*object"),
        ('{"a":1}{"b":2}', 8, "text.*object"),
        (b'{"a":"\xff"}', 7, "UTF-8"),
        (b'{"a":"\xc0\xaf"}', 7, "UTF-8"),
        (b'{"a":"\xf4\x90\x80\x80"}', 7, "UTF-8"),
    ],
)
def test_errors_of_bad_objects_have_line_and_column(text, column, what):
    where, message = json_bad(text, label="y", text_keys=["t"])
    assert where == column
    assert re.search(what, message)


def test_objects_nest_64_deep_and_no_deeper():
    def nested(depth):
        return '{"a":' * (depth - 1) + "{}" + "}" * (depth - 1)

    assert json_rows(nested(64)) == [("", {})]
    assert json_rows('{"a":' + "[" * 63 + "1" + "]" * 63 + "}") == [("", {"a" + ".0" * 63: 1})]
    for text in (nested(65), '{"a":' + "[" * 100_000):
        column, what = json_bad(text)
        assert column == (64 * 5 + 1 if text.startswith('{"a":{') else 64 + 5)
        assert "64" in what


def test_lines_are_counted_and_blank_ones_passed_over():
    text = b'\xef\xbb\xbf{"a":1}\r\n\n  \r\n{"a":}\n { "a" : 2 } \n{"a":3}'
    rows, bads = _core.parse_json_lines(text)
    assert rows == [("", {"a": 1}, 1), ("", {"a": 2}, 5), ("", {"a": 3}, 6)]
    assert [(line, column) for line, column, _ in bads] == [(4, 6)]
    ((line, column, what),) = _core.parse_json_lines(b'\n\xef\xbb\xbf{"a":1}')[1]
    assert (line, column) == (2, 1)
    assert "object" in what


# ---- against Python's json


def flattened(value, path=""):
    """All features of a value, a feature as often as it is given."""
    if isinstance(value, (list, Pairs)):
        is_list = isinstance(value, list)
        for key, below in enumerate(value) if is_list else value.pairs:
            whole = path if is_list and isinstance(below, str) else f"{path}.{key}" if path is not None else key
            yield from flattened(below, whole)
    elif isinstance(value, str):
        value.encode()
        yield f"{path}={value}", 1.0
    elif value:
        if not math.isfinite(value):
            raise ValueError
        path.encode()
        yield path, float(value)


class Pairs:
    """An object with all its keys, the repeated ones, too."""

    def __init__(self, pairs):
        self.pairs = pairs
        for key, _ in pairs:
            key.encode()


def refuse(constant):
    raise ValueError(constant)


def python_reads(line: str):
    """The features of a line, or None if it is bad."""
    try:
        value = json.loads(line, object_pairs_hook=Pairs, parse_constant=refuse)
        if not isinstance(value, Pairs):
            return None
        features = list(flattened(value, None))
    except (ValueError, OverflowError):
        return None
    return dict(features) if len(dict(features)) == len(features) else None


keys = st.text(alphabet='ab.=\u00e9\n\\"', max_size=3)
characters = st.characters(codec="utf-8") | st.sampled_from("\ud800\udc00\x00\x1f\x7f\U0001f600")
leaves = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(alphabet=characters, max_size=4), keys)
values = st.recursive(leaves, lambda v: st.lists(v, max_size=3) | st.dictionaries(keys, v, max_size=3), max_leaves=8)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.dictionaries(keys, values, max_size=4), max_size=4), st.booleans())
def test_objects_are_read_as_python_reads_them(objects, ascii_only):
    lines = [json.dumps(value, ensure_ascii=ascii_only) for value in objects]
    rows, bads = _core.parse_json_lines("\n".join(lines).encode("utf-8", "surrogatepass"))
    wanted = [(python_reads(line), number + 1) for number, line in enumerate(lines)]
    assert [(features, line) for _, features, line in rows] == [(f, line) for f, line in wanted if f is not None]
    assert [line for line, _, _ in bads] == [line for f, line in wanted if f is None]


def mutated(seeds, pieces, rng):
    text = bytearray(rng.choice(seeds))
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(text) + 1)
        action = rng.randrange(4)
        if action == 0:
            text[at : at + rng.randrange(5)] = b""
        elif action == 1:
            text[at:at] = rng.choice(pieces)
        elif action == 2:
            text[at:at] = text[rng.randrange(len(text) + 1) :][:8]
        else:
            text[at : at + 1] = bytes([rng.randrange(256)])
    return bytes(text)


OBJECTS = [
    rb'{"y":"spam","a":{"b":1.5,"c":[1,0,"x",{"d":true}]},"t":"Win $100 now! now"}',
    rb'{"y":1,"k\u00e9y":"\ud83d\ude00\n","n":null,"f":false,"e":[],"g":{}}',
    rb'{"a.b":-0.5e-3,"a":{"b":0},"s":["x","y"],"l":[[1],[[2]]]}',
]
OBJECT_PIECES = [
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\\",
    b"\\u",
    b"\\ud800",
    b"1e999",
    b"-",
    b"0",
    b"\xc3",
    b"\n",
    b" ",
]
TABLES = [
    b'0,x,"free, ""now"""\r\n1,2,3\r\n',
    b'1,"two\nlines",call me\n0,,?\n\n5,6,inf\n',
    b'2,na\xc3\xafve,"x"\n1,2\n1,2,3,4\n',
]
TABLE_PIECES = [
    b'"',
    b'""',
    b",",
    b"\n",
    b"\r\n",
    b"\t",
    b" ",
    b"=",
    b"nan",
    b"1e999",
    b"\xef\xbb\xbf",
    b"\xc3",
    b"+",
    b"x",
]


def test_mutated_objects_are_accepted_exactly_when_python_accepts_them():
    rng = random.Random(5)
    good = 0
    for _ in range(20_000):
        line = mutated(OBJECTS, OBJECT_PIECES, rng).replace(b"\n", b" ")
        rows, bads = _core.parse_json_lines(b"\n" + line)
        try:
            wanted = python_reads(line.decode()) if line.strip(b" \t\r") else "blank"
        except UnicodeDecodeError:
            wanted = None
        if wanted == "blank":
            assert rows == bads == []
        else:
            assert [features for _, features, _ in rows] == ([] if wanted is None else [wanted]), line
            assert len(bads) == (wanted is None)
        good += len(rows)
    assert 1_000 < good < 19_000


# ---- nothing crashes, and what was read before stays


def test_no_mutated_table_undoes_the_rows_before_it():
    rng = random.Random(6)
    good = bad = 0
    for k in range(100_000):
        text = mutated(TABLES, TABLE_PIECES, rng)
        options = {"text_columns": ["t"]} if k % 2 else {"interact": [("y", "a")], "label": "t"}
        rows, bads, _ = _core.parse_table(b"y,a,t\n7,x,\n8,y,\n" + text, **options)
        assert [(features["y"], line) for _, features, line in rows[:2]] == [(7, 2), (8, 3)]
        good += len(rows) > 2
        bad += bool(bads)
    assert good > 10_000
    assert bad > 10_000


def test_no_mutated_object_undoes_the_rows_before_it():
    rng = random.Random(7)
    good = bad = 0
    for _ in range(100_000):
        text = mutated(OBJECTS, OBJECT_PIECES, rng)
        rows, bads = _core.parse_json_lines(b'{"a":7}\n{"a":8}\n' + text, label="y", text_keys=["t"], words=2)
        assert rows[:2] == [("", {"a": 7}, 1), ("", {"a": 8}, 2)]
        good += len(rows) > 2
        bad += bool(bads)
    assert good > 5_000
    assert bad > 10_000


@pytest.mark.parametrize(
    ("options", "column"),
    [({"label": "clik"}, "click"), ({"label": "click", "table": {"ignore": ["dya"]}}, "day")],
)
def test_a_misspelt_column_names_the_similar_one_once(tmp_path: Path, options: Any, column: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text("day,size,click\nmon,1,a\ntue,2,b\n")
    with pytest.raises(ValueError, match=f"'{column}'") as caught:
        mb.Perceptron().run(mb.Source(path, **options))
    assert str(caught.value).count("size") == 1  # the columns are listed once


def test_a_table_without_a_label_lists_the_columns_by_number_and_by_line_1(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("subject,kind\nwin money,spam\ntea,ham\n")
    with pytest.raises(mb.StreamError) as caught:
        mb.Perceptron().run(mb.Source(path))
    assert all(name in str(caught.value) for name in ("label=", "c1, c2", "subject, kind"))


def test_a_column_with_two_roles_is_refused_without_a_hint_about_the_header(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("subject,kind\nwin money,spam\ntea,ham\n")
    with pytest.raises(ValueError, match="'kind'") as caught:
        mb.Perceptron().run(mb.Source(path, label="kind", table={"text": ["kind"]}))
    assert "header" not in str(caught.value)
    assert "did you mean" not in str(caught.value)
