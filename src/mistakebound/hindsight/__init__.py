"""Find the best comparator of a stream afterwards: weights, a disjunction, an expert, a mixture, a sequence."""
