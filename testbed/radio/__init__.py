"""Which nodes hear each other: the path loss of a signal, the errors of a receiver, and the range of a radio."""
