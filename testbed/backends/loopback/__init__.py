"""`loopback`: real processes and real UDP on this machine, and a medium between them."""
