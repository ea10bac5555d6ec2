"""The one list of what a client can do. Each method is a function of ``jobsplatform_sdk.calls``; here it becomes a
method of a client, which either waits for the answer or gives an awaitable."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial, update_wrapper
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, overload

from jobsplatform_sdk.calls.call import Call

P = ParamSpec("P")
T = TypeVar("T")


class Sends(Protocol):
    """Sends a call and has its answer."""

    def send(self, call: Call[T]) -> T: ...


class Awaits(Protocol):
    """The same for async code."""

    def send(self, call: Call[T]) -> Coroutine[Any, Any, T]: ...


class Service:
    """A service of the bus, as a client sees it."""

    def __init__(self, client: Sends) -> None:
        self.client = client


class AsyncService:
    """A service of the bus, as an async client sees it."""

    def __init__(self, client: Awaits) -> None:
        self.client = client


class Method(Generic[P, T]):
    """Makes a method from the function that makes its call."""

    def __init__(self, make: Callable[P, Call[T]]) -> None:
        self.make = make
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, service: None, owner: type) -> Method[P, T]: ...
    @overload
    def __get__(self, service: Service, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, service: AsyncService, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...

    def __get__(self, service: Any, owner: type) -> Any:
        if service is None:
            return self
        return update_wrapper(partial(_send, service.client, self.make), self.make)


def _send(client: Any, make: Callable[..., Call[Any]], /, *args: Any, **kwargs: Any) -> Any:
    return client.send(make(*args, **kwargs))
