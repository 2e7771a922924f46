"""Who hears whom: what a signal loses on its way, what a receiver makes of the rest, and how far a radio reaches."""
