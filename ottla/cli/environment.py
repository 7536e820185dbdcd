"""What the environment says of `ottla serve`, when it is asked: `--from-environment`, as in the container image.

    OTTLA_NODES=3 OTTLA_CLOCK=virtual     options of `ottla serve`, by their names
    OTTLA_LOG_BYTES_MAX=1000000           settings of ours: ottla.log.bytes.max
    KAFKA_NUM_PARTITIONS=3                settings of Kafka's, see `kafka_variables`

The command line wins over the environment, and the environment over the file of `--config`. Without the option the
environment is not read, because a variable left in a shell must not change the broker of a test. Only the option's own
variable is always read: with `OTTLA_FROM_ENVIRONMENT=true` an image asks for the rest, whatever its command is.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ottla.cli import control_token, kafka_variables
from ottla.settings.table import SETTINGS
from ottla.settings.values import ConfigError
from ottla.text.nearest import nearest

PREFIX: Final = "OTTLA_"
_ASKED: Final = "OTTLA_FROM_ENVIRONMENT"
#: Of other commands, of `ottla.testing` and of the image; and that of the token, which is read where it is needed.
_NOT_OF_SERVE: Final = (control_token.VARIABLE, "OTTLA_BOOTSTRAP", "OTTLA_TIMEOUT_S")
#: Options that may be repeated, in a variable a list with commas: with the setting that says the same.
_REPEATED: Final = {"listen": "listeners", "advertise": "advertised.listeners"}
_TRUTHS: Final = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


@dataclass(frozen=True, slots=True)
class Environment:
    """What it says beyond options: settings by name, and which variables are ignored, and why."""

    settings: Mapping[str, str]
    ignored: Sequence[tuple[str, str]]

    #: Where to listen, and what to advertise, if nothing says so.
    listeners = staticmethod(kafka_variables.add_listeners)


def read_environment(
    options: argparse.Namespace, actions: Iterable[argparse.Action], environ: Mapping[str, str] = os.environ
) -> Environment | None:
    """Give options what the environment says, where the command line says nothing: they are `None` there, or empty.

    `actions`: the options of the command. An empty variable of ours is none, as `${NODES:-}` leaves it. Returns None
    if the environment is not asked. Raises `ConfigError`.
    """
    if not options.from_environment and not _read_truth(_ASKED, environ.get(_ASKED) or "false"):
        return None
    by_variable = {PREFIX + action.dest.upper(): action for action in actions if action.dest not in ("help", "set")}
    settings = kafka_variables.read_settings(environ)
    ignored = kafka_variables.warnings(environ)
    for variable, text in _ours(environ):
        setting = kafka_variables.setting_name(variable, prefix="")
        if variable in by_variable:
            action = by_variable[variable]
            if getattr(options, action.dest) in (None, []) and not _is_said_otherwise(action.dest, options):
                setattr(options, action.dest, _read(variable, text, action))
        elif setting in SETTINGS:
            settings[setting] = text
        else:
            ignored.append((variable, f"no option and no setting has this variable; {_meant(variable, by_variable)}"))
    return Environment(settings, ignored)


def _ours(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The variables that are meant for us."""
    for variable, text in environ.items():
        is_ours = variable.startswith(PREFIX) and variable not in _NOT_OF_SERVE
        if is_ours and text and not kafka_variables.is_of_service(variable, text):
            yield variable, text


def _meant(variable: str, by_variable: Iterable[str]) -> str:
    ours = [name.upper().replace(".", "_") for name in SETTINGS if name.startswith("ottla.")]
    return nearest(variable, [*by_variable, *ours])


def _is_said_otherwise(option: str, options: argparse.Namespace) -> bool:
    """Whether the command line says it by another option."""
    if option == "control_token_file":
        return options.control_token is not None
    setting = _REPEATED.get(option)
    return any(word.partition("=")[0].strip() == setting for word in options.set)


def _read(variable: str, text: str, action: argparse.Action) -> Any:
    """A value as the option would have it. Raises `ConfigError`."""
    if action.nargs == 0:
        return _read_truth(variable, text)
    if action.choices is not None and text not in action.choices:
        raise ConfigError(f"{variable}={text} can't be used; {nearest(text, action.choices)}")
    convert: Callable[[str], Any] = action.type if callable(action.type) else str
    try:
        return [word.strip() for word in text.split(",")] if action.dest in _REPEATED else convert(text)
    except ValueError:
        raise ConfigError(f"{variable}={text} is not a whole number; write for example {variable}=3") from None


def _read_truth(variable: str, text: str) -> bool:
    if text.lower() not in _TRUTHS:
        raise ConfigError(f"{variable}={text} is neither true nor false; write {variable}=true")
    return _TRUTHS[text.lower()]
