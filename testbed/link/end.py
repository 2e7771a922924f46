"""One node's end of its link to one peer, through all its sessions.

The node with the smaller number opens sessions. Sessions are numbered from 1 for each pair of incarnations of the two
processes. The opening end repeats its `State` until the `State` of the other end shows that it has joined. Messages of
a session are numbered from 1; a `State` acknowledges those delivered.

An end that no longer hears its peer closes: messages that its agent sends from then on are held, and its `cut` tells
the peer how many messages the session has. The other end closes as well when it learns of the cut. An end is done when
all its own messages are acknowledged and it has delivered all messages of the peer up to the peer's cut. If that takes
longer than `close_timeout`, the end seals the session: it is done too, and its unacknowledged messages that carry units
are in doubt.

An end that is done delivers nothing more, so its count of delivered messages is final, and it tells it to a peer that
asks. An end that knows that its peer is done therefore knows for every message whether it was delivered, and returns
those that were not. This settles the doubt: directly, by relay, or at the latest by the `before` of the state that
opens the next session. While neither process crashes, no message is returned that was or can still be delivered, and
none is forgotten.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from agents.message import Message, is_conserved
from testbed.link.actions import Action, Deliver, Down, Lost, Return, Up
from testbed.link.frames import CLOSING, DONE, OPENING, UP, Data, Stage, State
from testbed.link.settings import LinkSettings

PostFrame = Callable[[int, State | Data, Message | None], None]
"""Sends a frame to a peer; with a Data, the message that it carries."""


class End:
    """This node's end of the link to one incarnation of one peer."""

    def __init__(
        self,
        me: int,
        peer: int,
        incarnation: int,
        settings: LinkSettings,
        post: PostFrame,
        tell: Callable[[Action], None],
    ) -> None:
        self.peer = peer
        self.incarnation = incarnation
        self._opens = me < peer
        self._settings = settings
        self._post = post
        self._tell = tell
        # Hearing.
        self._hellos = 0  # consecutive hellos of the peer
        self._last_hello = 0  # the number of its latest hello
        self._heard_at = (
            self._listed_at
        ) = -settings.dead_after  # when we heard it, and when it last said that it hears us
        # The session.
        self.session = 0
        self.stage: Stage = DONE
        self._peer_done = True
        self._before = 0  # how many messages of the session before this one were delivered here
        self._delivered = 0
        self._early: dict[int, Message] = {}  # messages that arrived before their predecessors
        self._sent = self._acked = self._on_air = 0  # numbers of messages: accepted, acknowledged, sent at least once
        self._window: deque[tuple[int, Message]] = deque()  # not yet acknowledged
        self._cut: int | None = None
        self._peer_cut: int | None = None
        self._held: list[Message] = []
        self._doubt: list[tuple[int, Message]] = []  # unacknowledged messages of the sealed session
        # Times.
        self._backoff = settings.retry
        self._retry_at: int | None = None
        self._close_at: int | None = None

    # -- hearing -----------------------------------------------------------------------------------------------------

    def hear(self, now: int) -> None:
        """Note that a datagram came directly from the peer."""
        if now - self._heard_at >= self._settings.dead_after:
            self._hellos = 0
        self._heard_at = now

    def hear_hello(self, now: int, number: int, lists_us: bool) -> None:
        """Count a hello of the peer, or a part of one, once; `lists_us` is whether it names this node as heard."""
        if number > self._last_hello:
            self._last_hello = number
            self._hellos += 1
        if lists_us:
            self._listed_at = now

    def hear_addressed(self, now: int) -> None:
        """Note a direct frame of the peer for this node; it sends one only if it has heard us lately."""
        self._listed_at = now

    def is_near(self, now: int) -> bool:
        """Whether both ends have heard each other lately."""
        return now - min(self._heard_at, self._listed_at) < self._settings.dead_after

    def was_heard(self, now: int) -> bool:
        """Whether we have heard the peer lately."""
        return now - self._heard_at < self._settings.dead_after

    # -- from the agent ----------------------------------------------------------------------------------------------

    def send(self, now: int, message: Message) -> bool:
        """Send a message in the current session; False if no session is up or closing."""
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
        """Handle the state of the peer's end; `direct` unless it was relayed."""
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
        """The peer is done with our current session and has opened the next one."""
        self._peer_done = True
        if self.stage is not DONE:
            self._finish(now, state.before)
        self._settle(state.before)
        if direct:
            self._begin(UP)
            self._tell(Up(self.peer, self.session))

    def _hear_of_this_session(self, now: int, state: State) -> None:
        if self.stage is OPENING:  # the peer's answer shows that it has joined
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
        """How many messages of the session are still missing before this one; None if it will not be delivered."""
        missing = data.number - self._delivered - 1
        is_wanted = data.session == self.session and self.stage in (UP, CLOSING)
        return missing if is_wanted and 0 <= missing < self._settings.window else None

    def on_data(self, now: int, data: Data, message: Message) -> None:
        """Handle a message of the peer."""
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
        """Do everything that has become due or possible."""
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
        """Whether an answer of the peer is missing that must be asked for again."""
        if self.stage in (OPENING, DONE):  # no relay is worth a question that can wait for the next contact
            return bool(self._doubt) or (not self._peer_done and self.was_heard(now))
        return self.stage is CLOSING or bool(self._window)

    def _retry(self) -> None:
        """Send unanswered frames again: data in the window and, unless up, a state that asks for the peer's."""
        if self.stage is not UP:
            self._post_state(ask=True)
        for number, message in list(self._window)[: self._settings.window]:
            if number <= self._on_air:
                self._post(self.peer, self._data(number), message)

    def _relax(self) -> None:
        """The peer has answered, so the retry interval starts from its shortest again."""
        self._retry_at = None
        self._backoff = self._settings.retry

    # -- the session -------------------------------------------------------------------------------------------------

    def _begin(self, stage: Stage) -> None:
        """Begin a new session; every message of the one before is settled or in doubt."""
        self._before = self._delivered
        self.session += 1
        self.stage = stage
        self._peer_done = False
        self._delivered = self._sent = self._acked = self._on_air = 0
        self._early.clear()
        self._cut = self._peer_cut = self._close_at = None
        self._relax()

    def _flow(self) -> None:
        """Send for the first time the messages that the window has room for."""
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
        """Start closing: send no new messages, and tell the peer the cut."""
        self.stage = CLOSING
        self._cut = self._sent
        timeout = self._settings.close_timeout
        self._close_at = None if timeout is None else now + timeout
        self._relax()
        self._post_state(ask=True)

    def _finish(self, now: int, final: int | None) -> None:
        """End the session. `final` is the peer's final count of delivered messages, if it is known."""
        was_up = self.stage in (UP, CLOSING)
        self.stage = DONE
        self._early.clear()
        unacknowledged, held = list(self._window), list(enumerate(self._held, self._sent + 1))
        self._window.clear()
        self._held.clear()
        if was_up:
            self._tell(Down(self.peer, self.session))
        if final is None:
            self._doubt = [(number, message) for number, message in unacknowledged if is_conserved(message)]
        else:
            self._give_back([one for one in unacknowledged if one[0] > final])
        self._give_back(held)
        self._relax()
        self._post_state(ask=not self._peer_done)

    def _settle(self, final: int) -> None:
        """Return those messages in doubt that the peer's final count does not cover."""
        doubt, self._doubt = self._doubt, []
        self._give_back([one for one in doubt if one[0] > final])

    def _give_back(self, messages: list[tuple[int, Message]]) -> None:
        session = self.session - 1 if self.stage is OPENING else self.session
        for number, message in messages:
            self._tell(Return(self.peer, session, number, message))

    def on_peer_restart(self) -> None:
        """The peer's process has crashed, so what it had delivered can no longer be known."""
        unknown = [*self._doubt, *((number, message) for number, message in self._window if is_conserved(message))]
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
