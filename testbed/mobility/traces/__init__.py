"""Movement traces: the paths of nodes in the formats of other simulators and of satellite receivers, read and written.

A format is one file here and one line in `formats`. Reading is bounded in time and memory, because traces come from
other sources: every problem with a file is an `InputError` of one line that names the file and the line. Writing keeps
everything that the format can express: in a converted trace every node is within a millimetre of its place at every
time, and converting it once more gives the same bytes.
"""

from testbed.mobility.traces.formats import convert, read, write
from testbed.mobility.traces.trace import Trace

__all__ = ["Trace", "convert", "read", "write"]
