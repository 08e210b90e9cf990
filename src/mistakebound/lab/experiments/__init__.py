"""One module for each experiment; each has an `Experiment` of the module's name."""
