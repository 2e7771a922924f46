"""Movement traces: the paths of nodes in the formats of other simulators and of receivers, read and written.

A format is one file here and one line in `formats`. Reading is bounded, because traces come from elsewhere: whatever is
wrong with a file is an `InputError` of one line that names the file and the line. Writing loses nothing that can be
kept: a converted trace has its nodes within a millimetre of where they were, at every time, and converting it once more
gives the same bytes.
"""

from testbed.mobility.traces.formats import convert, read, write
from testbed.mobility.traces.trace import Trace

__all__ = ["Trace", "convert", "read", "write"]
