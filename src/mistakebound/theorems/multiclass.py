"""The mistake bound of the multiclass Perceptron."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np

from mistakebound import bounds
from mistakebound.theorems.base import Theorem, smallest
from mistakebound.theorems.evidence import Measured, Premise, Witness

if TYPE_CHECKING:
    from mistakebound.theorems.class_evidence import ClassEvidence
    from mistakebound.theorems.evidence import Evidence
    from mistakebound.theorems.steps import Step


class MulticlassPerceptron(Theorem):
    """M ≤ 2(R‖U‖/γ)² if u_y·x − max_{r≠y} u_r·x ≥ γ > 0 and ‖x‖₂ ≤ R, after the first label.

    The first round of all has no prediction. It is a mistake that changes no weight, and is added to the bound. See
    docs/theory.md, "The multiclass Perceptron".
    """

    id: ClassVar[str] = "multiclass-perceptron"
    rule: ClassVar[str] = "multiclass-perceptron"
    norm_is: ClassVar[str] = "‖U‖_F"
    bounds_updates: ClassVar[bool] = False
    first_is_free: ClassVar[bool] = True
    asks: ClassVar[str] = "some U separates the labels: u_y·x − max u_r·x ≥ γ > 0"

    def search(self, evidence: Evidence) -> list[Measured]:
        """Return a U of great margin."""
        from mistakebound.hindsight.multiclass import max_class_margin  # noqa: PLC0415 - scipy's optimisers load slowly

        of = cast("ClassEvidence", evidence)
        U = max_class_margin(of.X, of.ids, of.classes)
        return [] if U is None else [self.measure(evidence, Witness(U.ravel()))]

    def measure(self, evidence: Evidence, witness: Witness) -> Measured:
        """Measure γ and ‖U‖_F. U errs in a round if another class has at least the score of the label."""
        from mistakebound.hindsight.multiclass import rivals  # noqa: PLC0415 - see above

        of, witness = cast("ClassEvidence", evidence), self.scaled(evidence, witness)
        margins = rivals(of.X @ witness.u.reshape(of.classes, of.n).T, of.ids)[0]
        norm = float(np.linalg.norm(witness.u))
        return Measured(witness, margins, round(of.total(margins <= 0)), norm, smallest(margins))

    def premises(self, evidence: Evidence, measured: Measured) -> tuple[Premise, ...]:
        """Check that U separates the labels with a margin. R is measured."""
        separated = f"u_y·x − max u_r·x ≥ γ > 0 in {evidence.every_round}"
        free = self.free(evidence)
        return (
            Premise(separated, bool(measured.gamma > 0), f"γ = {measured.gamma:.6g}"),
            Premise(f"‖x‖₂ ≤ R in {evidence.every_round}", True, f"R = {evidence.radius(2):.6g}"),
            Premise("a round without a prediction is added to the bound", True, f"{free} such round"),
        )

    def bound(self, evidence: Evidence, measured: Measured) -> float:
        """Return 2(R‖U‖/γ)², and 1 for the first round."""
        theirs = bounds.multiclass_perceptron(evidence.radius(2), measured.norm, measured.gamma)
        return self.free(evidence) + theirs

    def free(self, evidence: Evidence) -> int:
        """Return the number of mistakes without a prediction: that of the first round."""
        return cast("ClassEvidence", evidence).unpredicted

    def lemma(self, step: Step, witness: Witness) -> dict[str, float]:
        """Check ‖W⁺‖² ≤ ‖W‖² + 2‖x‖², and that ⟨U, W⟩ grows by the margin at least."""
        U, W, W_next, x = witness.u, step.z, step.z_next, step.x
        scores = U.reshape(-1, len(x)) @ x
        margin = float(scores[step.y] - np.delete(scores, step.y).max())
        return {
            "‖W⁺‖² ≤ ‖W‖² + 2‖x‖²": float(W @ W + 2 * (x @ x) - W_next @ W_next),
            "⟨U,W⁺⟩ ≥ ⟨U,W⟩ + γ": float(U @ W_next - U @ W) - margin,
        }
