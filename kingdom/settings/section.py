"""What every settings model is made of: the base class and the kinds of value."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
)
from pydantic_core import PydanticCustomError

from kingdom.topology import ROLES

_TIME = "(?:[01][0-9]|2[0-3]):[0-5][0-9]"


def _null_means_unset(schema: dict[str, Any]) -> None:
    """An empty section (`delivery:` with only comments below) is fine, for editors too."""
    schema["type"] = ["object", "null"]


class Section(BaseModel):
    """A part of a configuration file: frozen, and a key it does not know is an error."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        json_schema_extra=_null_means_unset,
        defer_build=True,  # most commands need one file's model, none needs all parts at import
    )


def _variable_name(name: str) -> str:
    # People paste the token itself here; neither accept it nor repeat it.
    if not name.isascii() or not name.replace("_", "A").isalnum() or name != name.upper():
        raise PydanticCustomError(
            "variable", "must be the name of an environment variable, such as GH_TOKEN"
        )
    return name


def _quoted_time(value: object) -> object:
    """YAML takes 23:30 for a number in base 60, and nobody can tell it from a plain one."""
    if type(value) in (int, float):
        raise PydanticCustomError("time", 'must be a time of the day in quotes, such as "03:00"')
    return value


def _time_of_day(text: str) -> str:
    if re.fullmatch(_TIME, text) is None:
        raise PydanticCustomError("time", 'must be a time of the day, such as "03:00"')
    return text


# Upper bounds keep a slip of the keyboard out of date arithmetic.
Seconds = Annotated[float, Field(gt=0, le=31_536_000)]
Pause = Annotated[float, Field(ge=0, le=31_536_000)]
Days = Annotated[int, Field(ge=1, le=36_500)]
Positive = Annotated[int, Field(ge=1)]
Percent = Annotated[float, Field(ge=0, le=100)]
Variable = Annotated[str, StringConstraints(min_length=1), AfterValidator(_variable_name)]
TimeOfDay = Annotated[
    str,
    BeforeValidator(_quoted_time),
    AfterValidator(_time_of_day),
    Field(json_schema_extra={"pattern": f"^{_TIME}$"}),
]


def polling_interval(role: str) -> Any:
    """The field of a role that looks for itself, too, should no notification come."""
    return Field(
        default=float(ROLES[role].poll_seconds),
        description="Longest wait before looking again; arrivals are noticed at once.",
    )


def _host_name(text: str) -> str:
    if re.fullmatch(r"(?:\*\.)?[A-Za-z0-9][A-Za-z0-9.-]*(?::[0-9]{1,5})?", text) is None:
        raise PydanticCustomError(
            "host", "must be a host such as pypi.org, *.example.com or git.example.com:8443"
        )
    return text


Host = Annotated[str, AfterValidator(_host_name)]


def _off_is_a_word(value: object) -> object:
    """YAML takes a bare `off` for false."""
    return "off" if value is False else value


IsolationChoice = Annotated[Literal["auto", "required", "off"], BeforeValidator(_off_is_a_word)]
