"""The learners that a user holds."""
