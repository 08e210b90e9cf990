"""The best comparator of a stream, found afterwards: weights, a disjunction, an expert, a mixture, a sequence."""
