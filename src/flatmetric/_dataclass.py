"""Dataclasses that are quick to define.

The standard decorator compiles up to six methods for each class, which took half of the time of loading this package.
Here only `__init__` is compiled; the other methods are the same functions for all classes.
"""

from __future__ import annotations

import dataclasses
from reprlib import recursive_repr
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, eq=True, repr=True, **more):
        """`dataclasses.dataclass`, with the same meaning.

        Examples
        --------
        >>> @dataclass(frozen=True)
        ... class Place:
        ...     x: float
        >>> Place(1.0), Place(1.0) == Place(1.0), Place(1.0) == Place(2.0)
        (Place(x=1.0), True, False)
        >>> Place(1.0).x = 2.0
        Traceback (most recent call last):
            ...
        dataclasses.FrozenInstanceError: cannot assign to field 'x'
        """

        def make(cls):
            own = set(vars(cls))
            made = dataclasses.dataclass(cls, eq=False, repr=False, **more)
            methods = {}
            if repr:
                methods["__repr__"] = _as_text
            if eq:
                methods |= {"__eq__": _is_equal, "__hash__": _hash if frozen else None}
            if frozen:
                methods |= {"__setattr__": _set_once, "__delattr__": _refuse}
            for name, method in methods.items():
                if name not in own:
                    setattr(made, name, method)
            return made

        return make if cls is None else make(cls)


@recursive_repr()
def _as_text(self: Any) -> str:
    shown = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _compared(record: Any) -> tuple[Any, ...]:
    """The values by which objects are equal."""
    return tuple(getattr(record, field.name) for field in dataclasses.fields(record) if field.compare)


def _is_equal(self: Any, other: object) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    return _compared(self) == _compared(other)


def _hash(self: Any) -> int:
    return hash(_compared(self))


def _set_once(self: Any, name: str, value: Any) -> None:
    """Set a field that has no value yet, as `__init__` does."""
    if name not in self.__dataclass_fields__ or _has_value(self, name):
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _has_value(record: Any, name: str) -> bool:
    """Whether an object has a value of its own; on its class there may be a default, or a slot."""
    if type(getattr(type(record), name, None)) is MemberDescriptorType:
        return hasattr(record, name)
    return name in record.__dict__


def _refuse(self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
