"""The pictures of a ledger, as its methods. Each returns a matplotlib figure, which ``figure.savefig(FILE)`` saves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from mistakebound.certificates.certificate import Certificate
    from mistakebound.play.ledger import Ledger
    from mistakebound.play.measures import Measures


class LedgerPlots:
    """Pictures of the rounds of a `Ledger`; they need matplotlib."""

    def plot(self, certificate: Certificate | None = None, *, dark: bool = False) -> Any:
        """Draw the number of mistakes by round, and the bound of a certificate; return a matplotlib figure.

        ``figure.savefig("mistakes.png")`` saves it.
        """
        from mistakebound.viz.plot import mistakes  # noqa: PLC0415 - here and below, it needs matplotlib

        ledger = cast("Ledger", self)
        return mistakes({ledger.rule.id: (ledger, certificate)}, dark=dark)

    def plot_windows(self, width: int | None = None, *, dark: bool = False) -> Any:
        """Draw the mistakes per 100 rounds in windows of ``width`` rounds, by default in about 40 windows."""
        from mistakebound.viz.plot import windows  # noqa: PLC0415

        ledger = cast("Ledger", self)
        return windows({ledger.rule.id: ledger}, width, dark=dark)

    def plot_calibration(self, *, dark: bool = False) -> Any:
        """Draw how often the positive label occurred, against its predicted probability."""
        from mistakebound.viz.plot import calibration  # noqa: PLC0415

        return calibration(self._two_label_measures(), str(cast("Ledger", self).classes[1]), dark=dark)

    def plot_roc(self, *, dark: bool = False) -> Any:
        """Draw the ROC curve of the probabilities."""
        from mistakebound.viz.plot import roc  # noqa: PLC0415

        return roc(self._two_label_measures(), dark=dark)

    def plot_thresholds(self, *, dark: bool = False) -> Any:
        """Draw precision, recall and error against the least probability for a positive prediction."""
        from mistakebound.viz.plot import thresholds  # noqa: PLC0415

        return thresholds(self._two_label_measures(), dark=dark)

    def _two_label_measures(self) -> Measures:
        ledger = cast("Ledger", self)
        if ledger.several:
            message = "this picture is for two labels; ledger.confusion and ledger.by_class() show several classes"
            raise ValueError(message)
        return ledger.measures
