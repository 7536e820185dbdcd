"""Whether a topic can have the configs that a client gives it."""

from __future__ import annotations

from collections.abc import Mapping

from ottla.cluster.refused import Refused
from ottla.log.config import LOG_SETTINGS, parse_log_configs
from ottla.protocol.errors import ErrorCode
from ottla.settings.settings import ConfigError


def check_topic_configs(texts: Mapping[str, str]) -> None:
    """Raise `Refused` if a topic can't have these configs."""
    for name in texts:
        if name not in LOG_SETTINGS:
            raise Refused(ErrorCode.INVALID_CONFIG, f"Unknown topic config name: {name}")
    try:
        parse_log_configs(texts)
    except ConfigError as error:
        raise Refused(ErrorCode.INVALID_CONFIG, error.for_client) from None
