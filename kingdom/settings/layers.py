"""Documents laid over one another, and the settings that come out of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar, get_args

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from kingdom.settings.refusal import refusal
from kingdom.settings.section import Section
from kingdom.settings.shape import field_at, section_at
from kingdom.settings.yaml_file import Document, Path

S = TypeVar("S", bound=Section)


def _may_be_none(field: FieldInfo | None) -> bool:
    """Where null means something else than the default, such as a limit that is lifted."""
    if field is None or field.default is None or field.is_required():
        return False
    return type(None) in get_args(field.annotation)


class Layers(Generic[S]):
    """Files laid over one another: mappings key by key, everything else as a whole."""

    def __init__(self, model: type[S]) -> None:
        self.origins: dict[tuple[str, ...], Document] = {}
        self._model = model
        self._merged: dict[str, Any] = {}
        self._documents: list[Document] = []

    def add(self, document: Document) -> None:
        self._documents.append(document)
        self._overlay(self._merged, document.content, (), document)

    def checked(self) -> S:
        try:
            return self._model.model_validate(self._merged)
        except ValidationError as error:
            raise refusal(self._model, error, self._where) from None

    def _overlay(
        self,
        below: dict[str, Any],
        above: Mapping[str, Any],
        at: tuple[str, ...],
        document: Document,
    ) -> None:
        for key, value in above.items():
            path = (*at, key)
            if section_at(self._model, path) and isinstance(value, dict | None):
                # A section with nothing in it but comments is null, and still named.
                inner = below.get(key)
                below[key] = inner if isinstance(inner, dict) else {}
                self._overlay(below[key], value or {}, path, document)
            elif value is None and not _may_be_none(field_at(self._model, path)):
                below.pop(key, None)
                self.origins.pop(path, None)
            else:
                below[key] = value
                self.origins[path] = document

    def _where(self, path: Path) -> str:
        """Where the value at this path, or the nearest one around it, was written."""
        for length in range(len(path), 0, -1):
            for document in reversed(self._documents):
                if document.has(path[:length]):
                    return document.where(path)
        return self._documents[-1].name
