"""The error of a component that can give no answer for one query, which others may answer for it."""


class UnansweredError(RuntimeError):
    """A component has no usable answer for a query: a language model wrote something else, or none came.

    A chain asks its next component. The message names the query and the cause.
    """
