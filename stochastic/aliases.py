"""Accept former names of parameters as well as the current ones."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

AnyFunction = TypeVar("AnyFunction", bound=Callable[..., Any])


def old_names(**names: str) -> Callable[[AnyFunction], AnyFunction]:
    """Return a decorator for former names of keywords: ``old_names(former="current")``."""

    def decorate(function: AnyFunction) -> AnyFunction:
        @functools.wraps(function)
        def accept(*args: Any, **options: Any) -> Any:
            for old in names.keys() & options.keys():
                if names[old] in options:
                    raise TypeError(f"{function.__name__}() got {old} and {names[old]}: give one")
                options[names[old]] = options.pop(old)
            return function(*args, **options)

        return cast(AnyFunction, accept)

    return decorate
