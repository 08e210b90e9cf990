"""The specification of the Panel: its views, members and interactions, and one round of it in plain Python."""
