"""The base of every mapping in a scenario: frozen, strict about types, closed to unknown keys."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator

from testbed import input_errors


class Section(BaseModel):
    """A mapping of a scenario, checked when it is made."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: Any) -> Any:
        if isinstance(data, dict):
            refuse_unknown(data, list(cls.model_fields))
        return data


def refuse_unknown(data: dict[str, Any], known: list[str]) -> None:
    """Raise an error for a key that is not known; it suggests the nearest one."""
    for key in data:
        if key not in known:
            raise input_errors.unknown_key(known, key)


def _kind_alone(value: Any) -> Any:
    return {"kind": value} if isinstance(value, str) else value


KindAlone = BeforeValidator(_kind_alone)
"""Lets a scenario write only the kind of a section, where all other keys have defaults."""
