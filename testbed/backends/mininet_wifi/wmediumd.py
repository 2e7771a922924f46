"""A connection to wmediumd, which Mininet-WiFi has started: sets the position of a station and reads the answer.

The answer repeats the position that was set; wmediumd offers no way to ask for more. Whether it acts on the position
shows only in which stations hear each other.
"""

from __future__ import annotations

import socket
import struct

from testbed.errors import BackendError
from testbed.mobility.trajectory import Position

SOCKET = "/var/run/wmediumd.sock"
WMEDIUMD_DIED = "wmediumd died: every station has heard every other since"
_REQUEST = struct.Struct("!B6s3f")
_ANSWER = struct.Struct("!BB6s3fB")
_POSITION_UPDATE, _POSITION_UPDATED, _SUCCESS = 13, 14, 0


class Wmediumd:
    """One connection."""

    def __init__(self, path: str = SOCKET) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.connect(path)
        except OSError as error:
            raise BackendError(f"wmediumd does not answer at {path}: {error.strerror}") from None
        self._answers = self._socket.makefile("rb")

    def fileno(self) -> int:
        """For selectors: readable when wmediumd has exited."""
        return self._socket.fileno()

    def put(self, mac: str, position: Position) -> Position:
        """Set the position of a station; returns the position that wmediumd answers with."""
        address = bytes.fromhex(mac.replace(":", ""))
        try:
            self._socket.sendall(_REQUEST.pack(_POSITION_UPDATE, address, *position))
            answer = self._answers.read(_ANSWER.size)
        except OSError:
            answer = b""
        if len(answer) < _ANSWER.size:
            raise BackendError(WMEDIUMD_DIED)
        kind, _, station, x, y, z, result = _ANSWER.unpack(answer)
        if (kind, station, result) != (_POSITION_UPDATED, address, _SUCCESS):
            raise BackendError(f"wmediumd refuses to move a station: answer {kind}, result {result}")
        return Position(x, y, z)

    def close(self) -> None:
        """Close the connection."""
        self._answers.close()
        self._socket.close()
