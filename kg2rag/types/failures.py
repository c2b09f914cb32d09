"""The error of a component that can give no answer for one query, which others may answer for it."""


class UnansweredError(RuntimeError):
    """A component has no usable answer for a query: a language model wrote something else, or none came.

    A chain asks its next component; a run records the query as failed and goes on.

    Attributes
    ----------
    cause : why, without the query, so that equal causes can be counted.
    """

    cause = "no usable answer"
