"""`Ledger`: counts of rounds and mistakes, and the rounds that a certificate needs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from operator import sub
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from mistakebound._support.lazy import np
from mistakebound._support.text import html_table
from mistakebound.data.labels import label_array

if TYPE_CHECKING:
    from mistakebound._support.arrays import AnyArray, BoolArray, FloatArray, IntArray, SignArray
    from mistakebound.certificates.certificate import Certificate
    from mistakebound.data.reader import ReadReport
    from mistakebound.play.ledger_schema import Said
    from mistakebound.rules import Rule


@dataclass(frozen=True, eq=False)  # arrays have no one truth value to compare by
class Kept:
    """The rounds that were updated or mistaken: all that the proofs of the linear rules sum over.

    ``indptr``, ``index`` and ``value`` are their examples in CSR form (without the constant feature).
    """

    rounds: IntArray
    labels: SignArray
    mistaken: BoolArray
    indptr: IntArray
    index: IntArray
    value: FloatArray

    def __len__(self) -> int:
        return len(self.rounds)


class Source(Protocol):
    """Where a ledger's larger parts come from when they are asked for."""

    def predictions(self) -> BoolArray | None:
        """Whether each prediction was positive, or None when not all were kept."""

    def mistake_rounds(self) -> IntArray | None:
        """0-based rounds of the mistakes, or None when not all were kept."""

    def kept(self) -> Kept:
        """As many of the updated or mistaken rounds as were kept."""

    def late(self) -> tuple[IntArray, IntArray]:
        """Kept rounds whose prediction had not seen all updates before it, and how many it had not seen."""

    def names(self) -> list[str]:
        """Names of the features by index; empty for a positional learner."""


class Counts(NamedTuple):
    """Totals, always exact."""

    rounds: int
    false_positives: int
    false_negatives: int
    updates: int
    to_keep: int
    """How many rounds were updated or mistaken."""

    def __sub__(self, earlier: Counts) -> Counts:
        return Counts(*map(sub, self, earlier))


class Ledger:
    """What one learner did in one ``run``, or in all its rounds (``learner.ledger_``).

    Attributes
    ----------
    rounds, mistakes, false_positives, false_negatives, updates : int
        Totals. A false positive is a positive prediction on a negative example.
    rule : Rule
        The rule with the parameters that were actually used.
    n : int
        Number of features: the width; for named features those that have an id, and one for all the others.
    classes : tuple
        (negative, positive) label.
    from_start : bool
        Whether the learner was fresh in the first round; theorems are about a stream from the learner's first round on.
    reading : ReadReport or None
        What was read, of a ledger that ``run`` returns for a Source: skipped lines, remarks, columns, bytes.
    """

    reading: ReadReport | None = None

    def __init__(
        self,
        counts: Counts,
        *,
        rule: Rule,
        n: int,
        classes: tuple[Any, Any],
        from_start: bool,
        named: bool,
        source: Source,
        said_positive: int | None = None,
    ) -> None:
        self._counts = counts
        self.rule = rule
        self.n = n
        self.classes = classes
        self.from_start = from_start
        self.named = named
        self._source = source
        self._said_positive = said_positive

    @property
    def rounds(self) -> int:
        """Number of rounds."""
        return self._counts.rounds

    @property
    def false_positives(self) -> int:
        """Positive predictions on negative examples."""
        return self._counts.false_positives

    @property
    def false_negatives(self) -> int:
        """Negative predictions on positive examples."""
        return self._counts.false_negatives

    @property
    def mistakes(self) -> int:
        """Wrong predictions."""
        return self.false_positives + self.false_negatives

    @property
    def updates(self) -> int:
        """Rounds that changed the weights."""
        return self._counts.updates

    @property
    def positive(self) -> BoolArray:
        """Whether each prediction was the positive label."""
        positive = self._source.predictions()
        if positive is None:
            message = (
                f"the predictions of {self.rounds} rounds exceed what a learner keeps of its whole life; "
                "each run returns those of its own rounds, or raise keep_bytes"
            )
            raise ValueError(message)
        return positive

    @property
    def said_positive(self) -> int:
        """How many predictions were the positive label; counted without numpy where they came from a file."""
        return int(self.positive.sum()) if self._said_positive is None else self._said_positive

    @cached_property
    def predictions(self) -> AnyArray:
        """What was predicted in each round *before* learning from it, in the learner's labels."""
        return label_array(self.classes)[self.positive.astype(np.intp)]

    @cached_property
    def mistake_rounds(self) -> IntArray:
        """0-based numbers of the rounds with a mistake."""
        rounds = self._source.mistake_rounds()
        if rounds is None:
            message = f"the rounds of {self.mistakes} mistakes exceed what is kept: raise keep_bytes"
            raise ValueError(message)
        return rounds

    @property
    def mistake_curve(self) -> IntArray:
        """Mistakes made up to and including each round."""
        return curve_of(self.mistake_rounds, self.rounds)

    @property
    def loss_curve(self) -> FloatArray:
        """What was lost up to and including each round: a mistake is a loss of 1."""
        return self.mistake_curve.astype(float)

    @cached_property
    def kept(self) -> Kept:
        """The updated or mistaken rounds with their examples."""
        return self._source.kept()

    @cached_property
    def delays(self) -> IntArray:
        """Of each kept round, the updates between its prediction and its outcome: 0 unless the outcome came late."""
        rounds, delays = self._source.late()
        found = np.zeros(len(self.kept), np.int64)
        found[np.searchsorted(self.kept.rounds, rounds)] = delays
        return found

    @property
    def late(self) -> int:
        """Kept rounds whose outcome came late: after an update that their prediction had not seen."""
        return len(self._source.late()[0])

    @property
    def complete(self) -> bool:
        """Whether every updated or mistaken round was kept, as a certificate needs."""
        return len(self.kept) == self._counts.to_keep

    @cached_property
    def names(self) -> list[str]:
        """Feature names by index, for a named learner."""
        return self._source.names()

    def __repr__(self) -> str:
        return f"<Ledger: {self.mistakes} mistakes in {self.rounds} rounds, {self.rule.id}>"

    def _repr_html_(self) -> str:
        """A table for notebooks."""
        rows = {"mistakes": self.mistakes, "rounds": self.rounds, "updates": self.updates, "rule": self.rule.id}
        return html_table("Ledger", rows)

    def plot(self, certificate: Certificate | None = None) -> Any:
        """Draw the mistakes made so far against rounds, and the bound of a certificate; a matplotlib figure.

        ``figure.savefig("mistakes.png")`` saves it. Needs matplotlib.
        """
        from mistakebound.viz.plot import mistakes  # noqa: PLC0415 - few ask for a picture

        return mistakes({self.rule.id: (self, certificate)})

    def to_json(self) -> str:
        """Everything as JSON text; ``Ledger.from_json`` reads it back."""
        import json  # noqa: PLC0415 - not needed to learn, and importing it takes a while

        from mistakebound._support.schema import to_json  # noqa: PLC0415
        from mistakebound.play.ledger_schema import KEPT, LATE  # noqa: PLC0415

        kept = self.kept
        positive, mistakes = self._source.predictions(), self._source.mistake_rounds()
        late = dict(zip(LATE, (each.tolist() for each in self._source.late()), strict=True))
        return json.dumps(
            {
                "counts": self._counts,
                "rule": {"id": self.rule.id, **{k: _finite(v) for k, v in asdict(self.rule).items()}},
                "n": self.n,
                "classes": list(map(to_json, self.classes)),
                "from_start": self.from_start,
                "named": self.named,
                "names": self.names,
                "predictions": None if positive is None else positive.astype(int).tolist(),
                "mistake_rounds": None if mistakes is None else mistakes.tolist(),
                "kept": {k: np.asarray(v).astype(KEPT[k]).tolist() for k, v in vars(kept).items()},
            }
            | ({"late": late} if late["rounds"] else {})
        )

    @classmethod
    def from_json(cls, text: str) -> Ledger:
        """Read what ``to_json`` wrote; ModelError, with the name of the field, if it is not valid.

        At most 2²⁷ positional features are accepted, because a certificate allocates memory for each of them.
        """
        from mistakebound.play.ledger_schema import read  # noqa: PLC0415 - not needed to learn

        said = read(text)
        return cls(
            Counts(*said.counts),
            rule=said.rule,
            n=said.n,
            classes=said.classes,
            from_start=said.from_start,
            named=said.named,
            source=Stored(said),
        )


def curve_of(mistake_rounds: IntArray, rounds: int) -> IntArray:
    """Mistakes up to and including each round."""
    curve = np.zeros(rounds, np.int64)
    curve[mistake_rounds] = 1
    return np.cumsum(curve)


def _finite(value: object) -> object:
    """JSON has no infinity: write it as text."""
    return str(value) if isinstance(value, float) and not np.isfinite(value) else value


class Stored:
    """The larger parts of a ledger that was read from JSON."""

    def __init__(self, said: Said) -> None:
        self._said = said

    def predictions(self) -> BoolArray | None:
        """As stored."""
        return self._said.predictions

    def mistake_rounds(self) -> IntArray | None:
        """As stored."""
        return self._said.mistake_rounds

    def kept(self) -> Kept:
        """As stored."""
        return Kept(**self._said.kept)

    def late(self) -> tuple[IntArray, IntArray]:
        """As stored."""
        return self._said.late

    def names(self) -> list[str]:
        """As stored."""
        return self._said.names
