"""The specification of each rule over experts, in terms of regrets. The learners are in ``mistakebound.experts``."""
