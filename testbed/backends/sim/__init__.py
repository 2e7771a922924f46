"""`sim`: the papers' abstract model in virtual time."""
