"""Errors at the edges of Parley; the type says whose move it is.

    ParleyError                  (problems/errors.py); a researcher's move, unless it is below
    ├── SettingsError            operator's move: a PARLEY_* variable is wrong or missing
    ├── NotDelivered             operator's move: an alert could not be sent
    ├── RecruiterError           a recruiter's API did not do what it was asked
    │   ├── RecruiterUnavailable recruiter's move: connection, 429, 5xx, timeouts; may be repeated, later
    │   ├── RecruiterRejected    researcher's move: the state or the content of what was asked does not fit
    │   └── RecruiterDenied      operator's move: the token is missing, wrong, or may not do this
    └── BackendError             a model gave no usable reply
        ├── BackendUnavailable   model server's move: connection, 429, 5xx, timeouts; may be retried
        ├── BackendRejected      study author's or participant's move: 400, bad options, a text too long; never retry
        │   └── BackendDenied    operator's move: 401, 402, 403, 404, no quota; every request fails alike
        └── BackendBroken        model server's move: malformed, truncated or empty; one more try is sensible

The message is for the researcher. A participant is shown the study's own words, never these.
"""

from problems.errors import ParleyError

# The answer to a request whose Origin is not the Host that it was sent to.
ANOTHER_SITE = "another site may not ask this"


class SettingsError(ParleyError):
    """A setting is wrong or missing: the operator's move."""


class NotYaml(ParleyError):
    """A text is no YAML, or asks for what no study needs; with its line and column, from 1, where they are known."""

    def __init__(self, problem: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(problem)
        self.problem, self.line, self.column = problem, line, column


class ArgumentInvalid(ParleyError):
    """A word of a command line that is no text, or names a place that is not there."""


class NotAllowed(ParleyError):
    """A researcher asked for what their role does not allow."""


class NotDelivered(ParleyError):
    """An alert was not accepted by a webhook or a mail server; the message has no secret."""


class RecruiterError(ParleyError):
    """A recruiter's API failed, or may have done it, if `uncertain`: the answer was lost. The message has no token."""

    uncertain = False


class RecruiterUnavailable(RecruiterError):
    """The recruiter could not be reached, is busy or broken; `retry_after_s` is how long it asked us to wait."""

    def __init__(self, message: str, *, uncertain: bool = False, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.uncertain, self.retry_after_s = uncertain, retry_after_s


class RecruiterRejected(RecruiterError):
    """The request does not fit the state of the study or submission, or these are not there; nothing was changed."""

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


class RecruiterDenied(RecruiterError):
    """The recruiter refuses every request of this token, or this one for lack of rights."""


class DepositError(ParleyError):
    """An export may not be deposited yet, or a repository refused it; the message has no token."""


class ModelUnknown(ParleyError):
    """A model was named that the study and the backends do not know."""


class MethodUnknown(ParleyError):
    """A way to ask models alone was named that there is not."""


class AloneError(ParleyError):
    """Models cannot be asked alone like that: something is missing, or is there twice."""


class AnnotatorUnknown(ParleyError):
    """An annotator was named that there is not, or one of one's own cannot be used."""


class PublishedUnknown(ParleyError):
    """Published figures were asked for that there are not."""


class FormatUnknown(ParleyError):
    """A report was asked for in a form in which it cannot be written."""


class PriceUnknown(ParleyError):
    """A budget was set for a model without a price."""


class MissingExtension(ParleyError):
    """The operator's move: the needed extension is not installed."""


class TrialError(ParleyError):
    """The data do not allow an estimate, test or simulation of a trial."""


class UserUnknown(ParleyError):
    """A kind of simulated user is not known, or lacks a part that it needs."""


class UserFailed(ParleyError):
    """A simulated user could not go on: its model gave nothing that can be used, or the study's gave no reply."""


class ModelUnreached(ParleyError):
    """No connection to the server of a model that simulated sessions need."""


class VisitFailed(ParleyError):
    """A rehearsed participant could not begin, or could not go on."""


class RehearsalImpossible(ParleyError):
    """The server takes no rehearsed participants: it is away, does not have the study, or has another secret."""


class ToolServerError(ParleyError):
    """A server of tools did something unexpected; models are told that the tool failed."""


class BackendError(ParleyError):
    """A model gave no usable reply; a failed reply is recorded as such and never enters a conversation."""

    def __init__(self, message: str, *, reason: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        """A short word for machines, such as `status_429`, `timeout_first_token`, `empty_reply`."""
        self.retry_after_s = retry_after_s
        """Seconds that the model server asked us to wait, where it did."""
        self.sent = ""
        """The request, where the caller knew it; without secrets."""
        self.raw = ""
        """The answer, as far as any came: also the text of a refusal."""
        self.tokens: tuple[int | None, int | None] = (None, None)
        """Tokens of the request and of the reply, where the server counted them all the same."""


class BackendUnavailable(BackendError):
    """The model server could not be reached, is busy or too slow: try the same request again, later."""


class BackendRejected(BackendError):
    """This request is refused: change the model's options or the prompt."""


class BackendDenied(BackendRejected):
    """The model server refuses every request alike: change the key, the address or the model's name."""


class BackendBroken(BackendError):
    """The answer is no reply: malformed, cut off without a word, filtered or empty."""
