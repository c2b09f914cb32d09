"""Tables of names that other packages may extend by an entry point; our own names come first.

A package adds a name in its pyproject.toml: under `[project.entry-points."kg2rag.systems"]`, the line
`my_system = "my_package.module:MySystem"`. Nothing of it is imported before its name is used.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TypeVar, cast

from kg2rag.text.nearest import unknown

Entry = TypeVar("Entry")


def names(group: str, own: Mapping[str, object]) -> tuple[str, ...]:
    """All names of a table, ours and those of installed packages, sorted."""
    return tuple(sorted({*own, *(point.name for point in entry_points(group=group))}))


def look_up(kind: str, name: str, own: Mapping[str, Entry], group: str) -> Entry:
    """The entry of a name in our table, else in that of an installed package.

    ValueError for a name that neither has (`kind` says of what), or that two packages register; RuntimeError for an
    entry that cannot be imported.
    """
    if name in own:
        return own[name]
    points = list(entry_points(group=group, name=name))
    if not points:
        raise ValueError(unknown(kind, name, names(group, own)))
    if len(points) > 1:
        raise ValueError(f"{kind} {name!r} is registered by {' and by '.join(map(_package, points))}: uninstall one.")
    try:
        return cast(Entry, points[0].load())
    except Exception as error:
        raise RuntimeError(
            f"{kind} {name!r} of the package {_package(points[0])} cannot be imported from {points[0].value}: "
            f"{type(error).__name__}: {error}"
        ) from error


def imported(kind: str, place: str) -> object:
    """What "package.module:Name" names; the directory one is in is looked through, too. It runs the module's code.

    ValueError: no such module or name. What the module itself raises is raised on.
    """
    here = str(Path.cwd())
    added = here not in sys.path
    if added:
        sys.path.insert(0, here)
    try:
        return EntryPoint(place, place, kind).load()
    except (AttributeError, ModuleNotFoundError) as error:
        module = place.partition(":")[0]
        if isinstance(error, ModuleNotFoundError) and not (module + ".").startswith(f"{error.name}."):
            raise  # a module that is there imports one that is not
        raise ValueError(f"{kind} {place!r} cannot be found: {error}. Write package.module:Name.") from error
    finally:
        if added:
            sys.path.remove(here)


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else "an unnamed package"
