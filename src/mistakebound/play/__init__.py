"""The compiled core at work for a learner or a set of experts, and the ledger of what happened."""
