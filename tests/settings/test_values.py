"""Values of settings: Kafka's types, trimming and ranges, and Kafka's text for them."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.settings.setting import Setting
from ottla.settings.values import BadValueError, format_value, parse_value

_LEVEL = Setting("level", "int", -1, -1, 9)
_POLICY = Setting("policy", "list", ["delete"], choices=("compact", "delete"))
_CODEC = Setting("codec", "string", "none", choices=("none", "gzip"))
_RATIO = Setting("ratio", "double", 0.5, 0, 1)


@pytest.mark.parametrize(
    ("setting", "text", "value"),
    [
        (Setting("x", "boolean", True), " TRUE ", True),
        (Setting("x", "boolean", True), "false", False),
        (Setting("x", "short", 0), "-32768", -32768),
        (Setting("x", "int", 0), "+7", 7),
        (Setting("x", "int", 0), "2147483647", 2147483647),
        (Setting("x", "long", 0), " 9223372036854775807\n", 2**63 - 1),
        (Setting("x", "double", 0), ".5", 0.5),
        (Setting("x", "double", 0), "1e-9", 1e-9),
        (Setting("x", "string", ""), "  plain  text ", "plain  text"),
        (Setting("x", "list", []), "", []),
        (Setting("x", "list", []), " a , b,a ", ["a", "b"]),
        (_POLICY, "compact, delete,compact", ["compact", "delete"]),
        (_POLICY, "", []),
        (_CODEC, "gzip", "gzip"),
        (_LEVEL, "9", 9),
        (_RATIO, "1", 1.0),
    ],
)
def test_value_is_parsed_as_kafka_parses_it(setting: Setting, text: str, value: Any) -> None:
    """Blanks around don't count, a list says each item once."""
    parsed = parse_value(setting, text)
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(
    ("setting", "text", "problem"),
    [
        (Setting("x", "boolean", True), "yes", "Expected value to be either true or false"),
        (Setting("x", "short", 0), "32768", "Not a number of type SHORT"),
        (Setting("x", "int", 0), "2147483648", "Not a number of type INT"),
        (Setting("x", "int", 0), "1_000", "Not a number of type INT"),
        (Setting("x", "int", 0), "", "Not a number of type INT"),
        (Setting("x", "long", 0), "9223372036854775808", "Not a number of type LONG"),
        (Setting("x", "long", 0), "abc", "Not a number of type LONG"),
        (Setting("x", "double", 0), "nan", "Not a number of type DOUBLE"),
        (_LEVEL, "-2", "Value must be at least -1"),
        (_LEVEL, "10", "Value must be no more than 9"),
        (_RATIO, "1.5", "Value must be no more than 1"),
        (_POLICY, "shred", "String must be one of: compact, delete"),
        (_POLICY, "compact,,delete", "values must not be empty"),
        (_CODEC, "GZIP", "String must be one of: none, gzip"),
    ],
)
def test_bad_value_is_refused_in_kafkas_words(setting: Setting, text: str, problem: str) -> None:
    """And in ours for who sits at the command line: the setting, the value, what would do."""
    with pytest.raises(BadValueError) as refused:
        parse_value(setting, text)
    assert refused.value.for_client == f"Invalid value {text} for configuration {setting.name}: {problem}"
    assert str(refused.value) == f"{setting.name}={text} is not {setting.expected}"


def test_number_of_a_million_digits_is_refused_at_once() -> None:
    """Python would take seconds to read it."""
    with pytest.raises(BadValueError):
        parse_value(Setting("x", "long", 0), "1" * 1_000_000)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        (True, "true"),
        (False, "false"),
        (7, "7"),
        ("plain", "plain"),
        ([], ""),
        (["a", "b"], "a,b"),
        (0.0, "0.0"),
        (0.5, "0.5"),
        (0.001, "0.001"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (0.00001, "1.0E-5"),
        (1.5e-9, "1.5E-9"),
        (-2.5e20, "-2.5E20"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
    ],
)
def test_value_is_written_as_java_writes_it(value: Any, text: str | None) -> None:
    """Doubles are the odd ones: plain from 0.001 up to ten million, else with an exponent."""
    assert format_value(value) == text
