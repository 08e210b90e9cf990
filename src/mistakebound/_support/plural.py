"""Numbers of things, in words."""


def many(count: int, thing: str) -> str:
    """Return a number of things.

    >>> many(1, "round"), many(2000, "round")
    ('1 round', '2,000 rounds')
    """
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"
