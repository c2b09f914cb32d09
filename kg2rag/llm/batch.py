"""Many requests -> their outcomes, several at a time, with early ends for common failures."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace

from kg2rag.llm.replies import CompletionError, Failure, Outcome

TRIAL = 10
"""Replies after which a high share of unusable ones is reported."""
MAX_UNUSABLE_SHARE = 0.2
MIN_ANNOUNCED = 20
"""The minimum of remaining requests that are announced after the trial."""
MAX_EXAMPLES = 3
MAX_EQUAL_FAILURES = 10
"""Successive equal failures after which nothing more is sent."""
MAX_SLOW_FAILURES = 3
"""The same for requests that are repeated one at a time after a timeout."""


class UnusableRepliesWarning(UserWarning):
    """Many of a model's first replies are not of the form that was requested."""


@dataclass(eq=False)
class Batch:
    """A batch of requests with different names, which are sent concurrently.

    Parameters
    ----------
    ask : sends the request of a name; called by several threads.
    names : the names of the requests.
    concurrency : the maximum of simultaneous requests.
    repeats_slow : whether requests that timed out are sent once more, one at a time, after all others.
    done : called after each outcome.
    announce : called with the first outcomes and the number of remaining requests, if these are many.
    """

    ask: Callable[[str], Outcome]
    names: Sequence[str]
    concurrency: int
    repeats_slow: bool
    done: Callable[[], object]
    announce: Callable[[Collection[Outcome], int], object]
    outcomes: dict[str, Outcome] = field(default_factory=dict, init=False)
    _refusals: list[Failure] = field(default_factory=list, init=False)

    def run(self) -> dict[str, Outcome]:
        """The outcome of each request.

        An interrupt cancels what is queued, waits for what is on its way, so that it is stored, and
        is raised; a second one does not wait. CompletionError for a failure of kind "access", which
        all requests would share, and for many equal failures one after the other.
        """
        self._send(self.names[:TRIAL])
        warn_of_unusable(self.outcomes.values(), len(self.names))
        left = len(self.names) - len(self.outcomes)
        if left >= MIN_ANNOUNCED:
            self.announce(self.outcomes.values(), left)
        self._send(self.names[TRIAL:])
        if self.repeats_slow:
            self._send_slow()
        return self.outcomes

    def _send(self, names: Sequence[str]) -> None:
        """Send some requests concurrently; many equal timeouts in a row end this, for `_send_slow`."""
        arrived: list[Outcome] = []
        with ThreadPoolExecutor(
            self.concurrency, thread_name_prefix="kg2rag-llm"
        ) as pool:
            futures = {pool.submit(self._ask, name): name for name in names}
            try:
                for future in as_completed(futures):
                    arrived.append(future.result())
                    self.outcomes[futures[future]] = arrived[-1]
                    self.done()
                    failure = shared_failure(arrived, MAX_EQUAL_FAILURES)
                    if failure is None:
                        continue
                    if not (self.repeats_slow and failure.kind == "timeout"):
                        raise self._end(failure)
                    pool.shutdown(wait=True, cancel_futures=True)
                    break
            # Also an interrupt: leaving the pool would otherwise first finish its queue.
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        for future, name in futures.items():  # requests in flight
            if future.done() and not future.cancelled():
                self.outcomes[name] = future.result()

    def _ask(self, name: str) -> Outcome:
        """The outcome of a request; once one was refused access, its failure, and nothing is sent.

        A thread would otherwise send its next request before the failure is read.
        """
        if self._refusals:
            return self._refusals[0]
        outcome = self.ask(name)
        if isinstance(outcome, Failure) and outcome.kind == "access":
            self._refusals.append(outcome)
        return outcome

    def _send_slow(self) -> None:
        """Repeat the requests that timed out, and send the others that remain, one at a time.

        The endpoint may still be busy with abandoned requests: then the first repetition times out,
        too, and is repeated.
        """
        arrived: list[Outcome] = []
        for name in self.names:
            earlier = self.outcomes.get(name)
            if earlier is not None and not _is_timeout(earlier):
                continue
            attempts = earlier.attempts if earlier is not None else 0
            outcome = self.ask(name)
            if _is_timeout(outcome) and min(self.concurrency, len(self.names)) > 1:
                attempts += outcome.attempts
                outcome = self.ask(name)
            self.outcomes[name] = replace(outcome, attempts=outcome.attempts + attempts)
            if earlier is None:
                self.done()
            arrived.append(outcome)
            failure = shared_failure(arrived, MAX_SLOW_FAILURES)
            if failure is not None and len(self.names) > MAX_SLOW_FAILURES:
                raise self._end(failure)

    def _end(self, failure: Failure) -> CompletionError:
        """The error that ends a batch."""
        answered = sum(
            not isinstance(outcome, Failure) for outcome in self.outcomes.values()
        )
        reason = (
            f"Requests in a row failed alike, so nothing more is sent: {failure.reason}. The {answered} answers that "
            "came are stored; the same call goes on from there"
        )
        return CompletionError(replace(failure, reason=reason))


def _is_timeout(outcome: Outcome) -> bool:
    return isinstance(outcome, Failure) and outcome.kind == "timeout"


def shared_failure(arrived: Sequence[Outcome], count: int) -> Failure | None:
    """The common failure of the last `count` outcomes; None for limits and unusable replies.

    CompletionError if the last one is of kind "access".
    """
    failures = [outcome for outcome in arrived[-count:] if isinstance(outcome, Failure)]
    if failures and failures[-1].kind == "access":
        raise CompletionError(failures[-1])
    is_shared = (
        len(failures) == count
        and len({(failure.kind, failure.reason) for failure in failures}) == 1
    )
    if not is_shared or failures[-1].kind in ("limit", "output"):
        return None
    return failures[-1]


def warn_of_unusable(outcomes: Iterable[Outcome], total: int) -> None:
    """Warn if more than a fifth of the first replies are unusable, with examples.

    The warning comes before the other requests are paid.
    """
    replies = [
        outcome
        for outcome in outcomes
        if not isinstance(outcome, Failure) or outcome.kind == "output"
    ]
    unusable = [reply for reply in replies if isinstance(reply, Failure)]
    if len(replies) < TRIAL or len(unusable) <= MAX_UNUSABLE_SHARE * len(replies):
        return
    examples = "".join(f"\n  - {failure.reason}" for failure in unusable[:MAX_EXAMPLES])
    warnings.warn(
        f"{len(unusable)} of the first {len(replies)} of {total} replies are unusable, such as:{examples}\n"
        "Stop and change the model, the prompt, structured or max_tokens if the others shall not be like that.",
        UnusableRepliesWarning,
        stacklevel=4,
    )
