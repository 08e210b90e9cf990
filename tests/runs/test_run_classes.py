"""Files with more than two labels: runs, checkpoints, caches, predictions, certificates and reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from files import call, shows
from labelled_streams import LABELS, exactly, stream, table

import mistakebound as mb
from mistakebound.models.model_file import fingerprint


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return table(tmp_path / "kinds.csv", *stream(300))


def source(path: Path, **options: Any) -> mb.Source:
    return mb.Source(path, label="kind", **options)


def test_a_run_counts_labels_and_mistakes(file: Path) -> None:
    result = mb.runs.run(source(file), mb.Panel())
    _, y = stream(300)
    assert result.labels == {label: int((y == label).sum()) for label in dict.fromkeys(y.tolist())}
    assert result.false_positives is None
    assert result.majority_mistakes == 300 - max(result.labels.values())
    assert result.mistakes == result.ledger.mistakes < result.majority_mistakes
    assert [remark.kind for remark in result.remarks] == ["several classes"]


def test_threads_and_caches_give_the_same_bits(file: Path, tmp_path: Path) -> None:
    plain = mb.Panel()
    plain.run(source(file))
    for options in ({"threads": 1}, {"cache": tmp_path / "c"}, {"cache": tmp_path / "c"}):
        other = mb.Panel()
        other.run(source(file, **options))
        assert exactly(other) == exactly(plain)


def test_a_frame_equals_its_file(file: Path) -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.read_csv(file)
    from_file, from_frame = mb.Panel(), mb.Panel()
    from_file.run(source(file))
    from_frame.run(frame.drop(columns="kind"), frame["kind"])
    assert (from_frame.ledger_.predictions == from_file.ledger_.predictions).all()


@pytest.mark.parametrize("late", [False, True])
def test_a_run_that_is_resumed_equals_one_that_never_stopped(late: bool, tmp_path: Path) -> None:
    """Also if the third label occurs after the checkpoint."""
    X, y = stream(300)
    y[:150] = np.where(y[:150] == "ant", "ant", "bee") if late else y[:150]
    file = table(tmp_path / "kinds.csv", X, y)
    classes = LABELS[:2] if late else None
    whole = mb.runs.run(source(file), mb.Panel(classes=classes), checkpoint=tmp_path / "whole.mb")
    text = file.read_text().splitlines(keepends=True)
    for rows in (10, 149, 151, 240):
        part, saved = tmp_path / "part.csv", tmp_path / f"{rows}.mb"
        part.write_text("".join(text[: rows + 1]))
        mb.runs.run(source(part), mb.Panel(classes=classes), checkpoint=saved, checkpoint_every=rows)
        loaded = mb.load(saved)
        part.write_text("".join([text[0], *text[rows + 1 :]]))
        loaded.run(source(part))
        if late or rows > 10:
            assert fingerprint(loaded) == fingerprint(whole.learner)


def test_interrupted_runs_resume(file: Path, tmp_path: Path) -> None:
    whole, saved = tmp_path / "whole.mb", tmp_path / "part.mb"
    call("run", file, "--label", "kind", "--save", whole, "--predictions", tmp_path / "whole.tsv")
    with file.open("a") as more:
        more.write("1,2,3,4,5,6,7,x\n")  # too few cells
    call(
        *("run", file, "--label", "kind", "--save", saved, "--checkpoint-every", 70),
        *("--predictions", tmp_path / "part.tsv"),
        fails=1,
    )
    assert fingerprint(mb.load(saved)) == fingerprint(mb.load(whole))
    assert (tmp_path / "part.tsv").read_text() == (tmp_path / "whole.tsv").read_text()


def test_predictions_have_the_label_and_its_probability(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "predictions.tsv"
    result = mb.runs.run(source(file), mb.Panel(), predictions=out, checkpoint=tmp_path / "m.mb")
    lines = [line.split("\t") for line in out.read_text().splitlines()]
    assert [label for label, _ in lines[1:]] == result.ledger.predictions[1:].tolist()
    assert lines[0] == ["", ""]
    shares = [float(p) for _, p in lines[1:]]
    assert all(0 <= p <= 1 for p in shares)
    right = np.array(shares)[result.ledger.predictions[1:] == stream(300)[1][1:]]
    assert right.mean() > np.mean(shares)
    new = tmp_path / "new.csv"
    new.write_text("".join(file.read_text().splitlines(keepends=True)[:6]))
    mb.runs.predict(mb.Source(new), mb.load(tmp_path / "m.mb"), out, scores=True)
    panel, rows = mb.load(tmp_path / "m.mb"), mb.Source(new)
    wanted = panel.predict_proba(rows).max(axis=1)
    lines = [line.split("\t") for line in out.read_text().splitlines()]
    assert [label for label, _ in lines] == panel.predict(rows).tolist()
    assert np.allclose([float(p) for _, p in lines], wanted, atol=1e-6)


def test_a_certificate_can_be_verified(file: Path, tmp_path: Path) -> None:
    certificate = tmp_path / "c.json"
    mb.runs.run(source(file), mb.Panel(), certificate=certificate)
    assert mb.runs.verify(certificate, file).agrees
    document = json.loads(certificate.read_text())
    assert document["counts"]["first_seen"] == 4
    file.write_text(file.read_text().replace(",ant\n", ",bee\n", 1))
    assert not mb.runs.verify(certificate, file).agrees
    document["counts"]["first_seen"] = 3
    certificate.write_text(json.dumps(document))
    assert not mb.runs.verify(certificate, file).agrees
    document["counts"]["false_positives"] = 3
    certificate.write_text(json.dumps(document))
    with pytest.raises(mb.errors.CertificateError):
        mb.runs.verify(certificate, file)


def test_the_summary_and_the_report_show_labels(file: Path, tmp_path: Path) -> None:
    page = tmp_path / "r.html"
    output = call("run", file, "--label", "kind", "--report", page)
    assert shows(output, "4 labels", "--positive LABEL", "predicted ", "always predicting", "log loss")
    text = page.read_text(encoding="utf-8")
    assert shows(text, "<h2>Labels</h2>", "precision", "dog", "<h2>Confusion</h2>", "class-prior")
    assert shows(text, "Largest weights of each label", "<h3><bdi>dog</bdi></h3>")
    found = json.loads(call("run", file, "--label", "kind", "--json"))
    assert found["confusion"]["labels"] == list(LABELS[:4])
    assert sum(map(sum, found["confusion"]["counts"])) == 299
    assert found["false_positives"] is None
    assert len(found["by_label"]) == 4


def test_many_labels_are_listed_by_their_mistakes(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    path = tmp_path / "many.csv"
    labels = rng.integers(0, 30, 400)
    path.write_text("x,kind\n" + "".join(f"{k + rng.normal():.2f},k{k}\n" for k in labels))
    output = call("run", path, "--label", "kind", "--report", tmp_path / "r.html")
    assert shows(output, "30 labels", "other pairs of labels")
    assert "Most frequent mistakes" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_labels_are_escaped_in_the_report(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x,kind\n" + "".join(f"{k % 3},<u>{k % 3}\n" for k in range(30)))
    call("run", path, "--label", "kind", "--report", tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "<u>" not in text
    assert "&lt;u&gt;0" in text


def test_classes_of_the_command_line(file: Path, tmp_path: Path) -> None:
    found = json.loads(call("run", file, "--label", "kind", "--classes", "dog,cat,bee,ant", "--json"))
    assert found["classes"] == ["dog", "cat", "bee", "ant"]
    assert shows(
        call("run", file, "--label", "kind", "--classes", "dog,cat,bee", "--learner", "arow", fails=1), "classes", "two"
    )


def test_a_header_that_is_read_as_an_example_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("word,kind\n" + "".join(f"w{k % 5},{'abc'[k % 3]}\n" for k in range(30)))
    assert "set --header" in call("run", path, "--label", 2)
    assert "set --header" not in call("run", path, "--label", 2, "--header")


def test_the_log_loss_of_the_table_is_named_and_repeated_in_the_summary(file: Path) -> None:
    """The mixture is measured in rounds of labels that had occurred before; the probabilities in all rounds."""
    panel = mb.Panel()
    panel.run(source(file))
    standings, measures = panel.standings, panel.ledger_.measures
    mixture, bound = standings.log_loss / standings.rounds, standings.loss_bound / standings.rounds
    assert measures.log_loss > mixture + 0.001
    text = call("run", file, "--label", "kind")
    table, _, summary = text.partition("\n\n")
    assert "mix loss" in table
    assert "log loss" not in table
    assert f"{mixture:.4f}" in next(line for line in table.splitlines() if line.split()[0] == "300")
    assert f"log loss {measures.log_loss:.4f}, " in summary
    assert f"mixture       log loss {mixture:.4f} (bound {bound:.4f}) in the 296 rounds" in summary
    assert "-0.0000" not in table
    found = json.loads(call("run", file, "--label", "kind", "--json"))
    assert (found["panel"]["rounds"], found["panel"]["first_seen"]) == (296, 4)
