"""Limits of a trace. Files come from other sources, so their content must not exhaust memory or time."""

MAX_BYTES = 1 << 30  # of text, after decompression
MAX_LINES = 10_000_000  # or elements of an XML file
MAX_LINE_BYTES = 1 << 20  # or of one tag or comment of an XML file
MAX_DEPTH = 50  # of elements of an XML file
MAX_NODES = 100_000
MAX_WAYPOINTS = 5_000_000  # of all nodes together: about 1 GB of memory
MAX_SECONDS = 1e9  # thirty years
MAX_METRES = 1e9  # a float is still exact to a ten-thousandth of a millimetre
