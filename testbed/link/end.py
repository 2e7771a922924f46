"""One node's end of its link to one peer, through all its sessions.

The node with the smaller number opens sessions, which are numbered from 1 between two lives of two processes. It says
so in its `State` until the other's `State` shows that it has joined. Messages of a session are numbered from 1; a
`State` acknowledges those delivered.

An end that no longer hears its peer closes: what its agent sends from then on is held, and `cut` says how many messages
the session has. The other end, when it hears of the cut, closes as well. An end whose own messages are all acknowledged
and that has delivered all of the other's up to its cut is done. If that takes longer than `close_timeout` the end seals
the session: it is done too, and messages that carry units and were not acknowledged are in doubt.

An end that is done delivers nothing more, so its count of delivered messages is final, and it says so to whoever asks.
So an end that knows the other to be done knows of every message whether it was delivered, and gives back those that
were not: that is how doubt is settled, over the air or carried by others, and at the latest by the `before` of the
state that opens the next session. No message is given back that was or can still be delivered, and none is forgotten,
while both processes live.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from agents.message import Message
from testbed.link.actions import Action, Deliver, Down, Lost, Return, Up
from testbed.link.frames import CLOSING, DONE, OPENING, UP, Data, Stage, State
from testbed.link.settings import Settings

Post = Callable[[int, State | Data, Message | None], None]
"""Sends a frame to a peer, with a message for a Data to carry."""


class End:
    """The link to one life of one peer."""

    def __init__(
        self, me: int, peer: int, incarnation: int, settings: Settings, post: Post, tell: Callable[[Action], None]
    ) -> None:
        self.peer = peer
        self.incarnation = incarnation
        self._opens = me < peer
        self._settings = settings
        self._post = post
        self._tell = tell
        # Hearing.
        self._hellos = 0  # of the peer, one after the other
        self._last_hello = 0  # its number
        self._heard_at = self._listed_at = -settings.dead_after  # when it was heard last, and said that it hears us
        # The session.
        self.session = 0
        self.stage: Stage = DONE
        self._peer_done = True
        self._before = 0  # how many messages of the session before this one were delivered here
        self._delivered = 0
        self._early: dict[int, Message] = {}  # arrived before one that was sent before
        self._sent = self._acked = self._on_air = 0  # numbers of messages: given, acknowledged, sent at least once
        self._window: deque[tuple[int, Message]] = deque()  # not acknowledged
        self._cut: int | None = None
        self._peer_cut: int | None = None
        self._held: list[Message] = []
        self._doubt: list[tuple[int, Message]] = []  # of the session that was sealed
        # Times.
        self._backoff = settings.retry
        self._retry_at: int | None = None
        self._close_at: int | None = None

    # -- hearing -----------------------------------------------------------------------------------------------------

    def hear(self, now: int) -> None:
        """Anything came from the peer itself."""
        if now - self._heard_at >= self._settings.dead_after:
            self._hellos = 0
        self._heard_at = now

    def hear_hello(self, now: int, number: int, lists_us: bool) -> None:
        """A hello of the peer, or a part of one; whether it says that it hears us. What comes twice counts once."""
        if number > self._last_hello:
            self._last_hello = number
            self._hellos += 1
        if lists_us:
            self._listed_at = now

    def hear_addressed(self, now: int) -> None:
        """The peer itself spoke to us, which it does only if it has heard us lately."""
        self._listed_at = now

    def is_near(self, now: int) -> bool:
        """Whether each has heard the other lately."""
        return now - min(self._heard_at, self._listed_at) < self._settings.dead_after

    def was_heard(self, now: int) -> bool:
        """Whether we have heard the peer lately."""
        return now - self._heard_at < self._settings.dead_after

    # -- from above --------------------------------------------------------------------------------------------------

    def send(self, now: int, message: Message) -> bool:
        """Send a message in the session there is; False if there is none."""
        if self.stage is UP:
            self._sent += 1
            self._window.append((self._sent, message))
            self._flow()
            self._plan_retry(now)
        elif self.stage is CLOSING:
            self._held.append(message)
        else:
            return False
        return True

    # -- from the air ------------------------------------------------------------------------------------------------

    def on_state(self, now: int, state: State, direct: bool) -> None:
        """The peer says how its end stands; `direct` unless others carried it."""
        if state.session == self.session + 1 and not self._opens:
            self._hear_of_next_session(now, state, direct)
        elif state.session == self.session:
            self._hear_of_this_session(now, state)
        elif state.session == self.session - 1 and self.stage is OPENING and state.stage == DONE:
            self._settle(state.delivered)
        if state.ask:
            self._post_state(ask=False)
        self.act(now)

    def _hear_of_next_session(self, now: int, state: State, direct: bool) -> None:
        """The peer is done with the session we are in, and has opened the next one."""
        self._peer_done = True
        if self.stage is not DONE:
            self._finish(now, state.before)
        self._settle(state.before)
        if direct:
            self._begin(UP)
            self._tell(Up(self.peer, self.session))

    def _hear_of_this_session(self, now: int, state: State) -> None:
        if self.stage is OPENING:  # so the peer has joined
            self._settle(state.before)
            self.stage = UP
            self._relax()
            self._tell(Up(self.peer, self.session))
        if self.stage is not DONE:
            self._acknowledge(state.delivered)
            if state.cut is not None:
                self._peer_cut = state.cut
        if state.stage == DONE:
            self._peer_done = True
            if self.stage is not DONE:
                self._finish(now, state.delivered)
            self._settle(state.delivered)
        elif self._peer_cut is not None and self.stage is UP:
            self._close(now)

    def missing_before(self, data: Data) -> int | None:
        """How many messages of the session have yet to come before this one; None if it is not waited for."""
        missing = data.number - self._delivered - 1
        is_wanted = data.session == self.session and self.stage in (UP, CLOSING)
        return missing if is_wanted and 0 <= missing < self._settings.window else None

    def on_data(self, now: int, data: Data, message: Message) -> None:
        """A message of the peer's."""
        if data.session == self.session and self.stage in (UP, CLOSING):
            if self._delivered < data.number <= self._delivered + self._settings.window:
                self._early[data.number] = message
            while self._delivered + 1 in self._early:
                self._delivered += 1
                arrived = self._early.pop(self._delivered)
                self._tell(Deliver(self.peer, self.session, self._delivered, arrived))
        if self.stage is not OPENING:
            self._post_state(ask=False)
        self.act(now)

    # -- from time ---------------------------------------------------------------------------------------------------

    def act(self, now: int) -> None:
        """Do what has become due or possible."""
        if self.stage is UP and not self.is_near(now):
            self._close(now)
        if self.stage is CLOSING:
            if self._peer_cut == self._delivered and self._cut == self._acked:
                self._finish(now, self._cut)
            elif self._close_at is not None and now >= self._close_at:
                self._finish(now, None)
        if self.stage is DONE and self._opens and self.is_near(now) and self._hellos >= self._settings.up_after:
            self._begin(OPENING)
            self._post_state(ask=True)
        self._flow()
        if self._retry_at is not None and now >= self._retry_at:
            self._retry()
            self._retry_at = None
        self._plan_retry(now)

    def wake_at(self) -> int | None:
        """When `act` may have something to do, if nothing else happens."""
        due = self._close_at if self.stage is CLOSING else None
        if self.stage is UP:
            due = min(self._heard_at, self._listed_at) + self._settings.dead_after
        if due is None or (self._retry_at is not None and self._retry_at < due):
            return self._retry_at
        return due

    def _plan_retry(self, now: int) -> None:
        if not self._waits(now):
            self._retry_at = None
            self._backoff = self._settings.retry
        elif self._retry_at is None:
            self._retry_at = now + self._backoff
            self._backoff = min(2 * self._backoff, self._settings.max_retry)

    def _waits(self, now: int) -> bool:
        """Whether something of the peer's is awaited that it should be asked for again."""
        if self.stage in (OPENING, DONE):  # others need not carry a question that can wait for the next contact
            return bool(self._doubt) or (not self._peer_done and self.was_heard(now))
        return self.stage is CLOSING or bool(self._window)

    def _retry(self) -> None:
        """Send again what was not answered. A cut or a doubt is for the peer to answer; data answers itself."""
        if self.stage is not UP:
            self._post_state(ask=True)
        for number, message in list(self._window)[: self._settings.window]:
            if number <= self._on_air:
                self._post(self.peer, self._data(number), message)

    def _relax(self) -> None:
        """The peer has answered: what is awaited next is asked for at the usual pace."""
        self._retry_at = None
        self._backoff = self._settings.retry

    # -- the session -------------------------------------------------------------------------------------------------

    def _begin(self, stage: Stage) -> None:
        """A new session; all of the one before is settled, or in doubt."""
        self._before = self._delivered
        self.session += 1
        self.stage = stage
        self._peer_done = False
        self._delivered = self._sent = self._acked = self._on_air = 0
        self._early.clear()
        self._cut = self._peer_cut = self._close_at = None
        self._relax()

    def _flow(self) -> None:
        """Put what the window has room for on the air for the first time."""
        if self.stage in (UP, CLOSING):
            while self._on_air < min(self._sent, self._acked + self._settings.window):
                self._on_air += 1
                number, message = self._window[self._on_air - self._acked - 1]
                self._post(self.peer, self._data(number), message)

    def _acknowledge(self, delivered: int) -> None:
        if delivered > self._acked:
            self._relax()
        while self._window and self._window[0][0] <= delivered:
            self._acked = self._window.popleft()[0]

    def _close(self, now: int) -> None:
        """Send nothing new, and say so."""
        self.stage = CLOSING
        self._cut = self._sent
        timeout = self._settings.close_timeout
        self._close_at = None if timeout is None else now + timeout
        self._relax()
        self._post_state(ask=True)

    def _finish(self, now: int, final: int | None) -> None:
        """Be done with the session. `final` is how many messages the peer has delivered, if that is known for good."""
        was_up = self.stage in (UP, CLOSING)
        self.stage = DONE
        self._early.clear()
        unacknowledged, held = list(self._window), list(enumerate(self._held, self._sent + 1))
        self._window.clear()
        self._held.clear()
        if was_up:
            self._tell(Down(self.peer, self.session))
        if final is None:
            self._doubt = [(number, message) for number, message in unacknowledged if message.units]
        else:
            self._give_back([one for one in unacknowledged if one[0] > final])
        self._give_back(held)
        self._relax()
        self._post_state(ask=not self._peer_done)

    def _settle(self, final: int) -> None:
        """The peer's last word on the session in doubt."""
        doubt, self._doubt = self._doubt, []
        self._give_back([one for one in doubt if one[0] > final])

    def _give_back(self, messages: list[tuple[int, Message]]) -> None:
        session = self.session - 1 if self.stage is OPENING else self.session
        for number, message in messages:
            self._tell(Return(self.peer, session, number, message))

    def lose(self) -> None:
        """The peer's process is dead, and with it all knowledge of what it had delivered."""
        unknown = [*self._doubt, *((number, message) for number, message in self._window if message.units)]
        held = list(enumerate(self._held, self._sent + 1))
        if self.stage in (UP, CLOSING):
            self._tell(Down(self.peer, self.session))
        session = self.session - 1 if self.stage is OPENING else self.session
        for number, message in unknown:
            self._tell(Lost(self.peer, session, number, message))
        self._give_back(held)

    # -- frames ------------------------------------------------------------------------------------------------------

    def _post_state(self, *, ask: bool) -> None:
        state = State(
            self.peer, self.incarnation, self.session, self.stage, self._delivered, self._before, self._cut, ask
        )
        self._post(self.peer, state, None)

    def _data(self, number: int) -> Data:
        return Data(self.peer, self.incarnation, self.session, number)
