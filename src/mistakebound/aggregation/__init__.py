"""Rules over experts, on regrets alone: the specification. ``mistakebound.experts`` makes them pleasant to use."""
