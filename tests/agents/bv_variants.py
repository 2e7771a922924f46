"""BV as printed, and BV with a line broken: what the tests must be able to tell from the real one."""

from agents.bv import BV, Inform, Request, Token
from agents.contract import CRITICAL

# -- each deviation undone, the others kept ----------------------------------------------------------------------------


class KeptNodeQueue(BV):
    """Deviation 2 undone: node-queue is never emptied."""

    def on_token(self, j: int, message: Token) -> None:
        kept = list(self.node_queue)
        super().on_token(j, message)
        self.node_queue = kept


class ProseRequest(BV):
    """Deviation 3, first half undone: an idle token leaves, and pointer[t] of the request is set, not its own."""

    def on_request_message(self, j: int, message: Request) -> None:
        token = self.token
        before = None if token is None else self.pointer[token]
        super().on_request_message(j, message)
        if token is not None and before is not None and self.token is None:
            self.pointer[token] = before
            self.pointer[message.token] = message.origin


class ProseToken(BV):
    """Deviation 3, second half undone: pointer[t] of the token that came is set to the modifier."""

    def on_token(self, j: int, message: Token) -> None:
        wanted, before = self.waiting_for, list(self.pointer)
        super().on_token(j, message)
        if wanted is not None and wanted != message.token:
            self.pointer[wanted] = before[wanted]
            self.pointer[message.token] = message.modifiers[0]


class RearOfQueue(BV):
    """The pointer is set to the rear of the queue instead of the last unmodified node: what the definition is for."""

    def last_unmodified(self) -> int:
        return self.token_queue[-1][0]


DEFECTS = (KeptNodeQueue, ProseRequest, ProseToken, RearOfQueue)

# -- mutants -----------------------------------------------------------------------------------------------------------


class KeptToken(BV):
    """The token is sent and kept."""

    def send_token(self) -> None:
        token = self.token
        super().send_token()
        self.token = token


class LostNodeQueue(BV):
    """The requests that came while the node waited are forgotten."""

    def on_token(self, j: int, message: Token) -> None:
        self.node_queue = []
        super().on_token(j, message)


class EagerHolder(BV):
    """Gives the token away in its critical section."""

    def on_request_message(self, j: int, message: Request) -> None:
        super().on_request_message(j, message)
        if self.token is not None and self.status is CRITICAL:
            self.send_token()


class BackwardInform(BV):
    """INFORM makes its receiver point at itself."""

    def on_inform(self, j: int, message: Inform) -> None:
        super().on_inform(j, message)
        self.pointer[message.token] = self.node


MUTANTS = (KeptToken, LostNodeQueue, EagerHolder, BackwardInform)
