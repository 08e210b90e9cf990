"""Linear learners, and the protocol that all learners follow."""
