"""A cached property without a lock, so that threads do not wait for each other.

`functools.cached_property` holds one lock for all instances of a class until Python 3.12: threads that sort
different features would wait for each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self


Value = TypeVar("Value")


class lockfree_cached_property(Generic[Value]):  # noqa: N801  # a decorator, named like `property`
    """Cache what a method returns in the instance, under the name of the method.

    Threads that read the value of one instance at the same time may each compute it, so it must be a pure
    function of the instance.

    Parameters
    ----------
    function : callable
        The method; its only argument is the instance, which has a ``__dict__``.

    Examples
    --------
    >>> class Square:
    ...     def __init__(self, side): self.side = side
    ...     @lockfree_cached_property
    ...     def area(self):
    ...         print("computing")
    ...         return self.side**2
    >>> square = Square(3)
    >>> square.area + square.area
    computing
    18
    """

    def __init__(self, function: Callable[[Any], Value]) -> None:
        self._function = function
        self._name = function.__name__
        self.__doc__ = function.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type | None = None) -> Value: ...

    def __get__(self, instance: object | None, owner: type | None = None) -> Self | Value:
        """Compute and keep the value; from then on the instance answers by itself."""
        if instance is None:
            return self
        value = self._function(instance)
        instance.__dict__[self._name] = value
        return value
