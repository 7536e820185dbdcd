"""KAFKA_… variables as settings, as Kafka's container images take them: apache/kafka and confluentinc/cp-kafka.

    KAFKA_NUM_PARTITIONS=3                num.partitions=3
    KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS=0
    KAFKA_OTTLA_LOG_BYTES_MAX=1000000     ottla.log.bytes.max, which is ours

_ is a dot, __ an underscore, ___ a dash. What only makes sense with Java, ZooKeeper or a quorum of controllers is left
out without a word, and so is what Docker's links and Kubernetes put there for services called kafka.

Kafka: KafkaDockerWrapper.getServerConfigsFromEnv. cp-kafka: its `configure` and `kafka.properties.template`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ottla.settings.values import ConfigError

if TYPE_CHECKING:
    from ottla.settings.settings import Settings

PREFIX: Final = "KAFKA_"

#: What the images' scripts read themselves. Kafka: ExcludeServerPropsEnv.
_OF_SCRIPTS: Final = frozenset(
    PREFIX + name
    for name in (
        "DEBUG",
        "GC_LOG_OPTS",
        "HEAP_OPTS",
        "HOME",
        "JMX_HOSTNAME",
        "JMX_OPTS",
        "JMX_PORT",
        "JVM_PERFORMANCE_OPTS",
        "LOG4J_LOGGERS",
        "LOG4J_OPTS",
        "LOG4J_ROOT_LOGLEVEL",
        "OPTS",
        "TOOLS_LOG4J_LOGLEVEL",
        "VERSION",
    )
)
#: Settings of what is not here: controllers, ZooKeeper, and what is Confluent's own.
_NOT_HERE: Final = re.compile(r"(process\.roles|controller\.quorum\.|zookeeper\.|confluent\.).*")
#: Docker's links and Kubernetes name the addresses of services so.
_OF_SERVICES: Final = re.compile(r"\w+_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_\w+)?)")
_URL_OF_SERVICE: Final = re.compile(r"(tcp|udp|sctp)://.*")

_VOTERS: Final = ("KAFKA_CONTROLLER_QUORUM_VOTERS", "KAFKA_CONTROLLER_QUORUM_BOOTSTRAP_SERVERS")
#: Where Kafka's image listens, and what it tells clients, if nobody says otherwise.
LISTEN: Final = "0.0.0.0:9092"
ADVERTISE: Final = "localhost:9092"


def read_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """The settings that the variables give, by name. Raises `ConfigError` where a controller alone is asked for."""
    roles = environ.get("KAFKA_PROCESS_ROLES", "")
    if roles.strip() == "controller":
        raise ConfigError(
            "KAFKA_PROCESS_ROLES=controller: there are no controllers to run; leave this service out, "
            "or write KAFKA_PROCESS_ROLES=broker,controller"
        )
    settings = {setting_name(name): text for name, text in environ.items() if _is_setting(name, text)}
    return {name: text for name, text in settings.items() if not _NOT_HERE.fullmatch(name)}


def setting_name(variable: str, prefix: str = PREFIX) -> str:
    """The setting that a variable is for."""
    name = variable.removeprefix(prefix).lower().replace("_", ".")
    return name.replace("...", "-").replace("..", "_")


def is_of_service(name: str, text: str) -> bool:
    """Whether nobody wrote it: it says where a service of this name is."""
    return bool(_OF_SERVICES.fullmatch(name) or (name.endswith("_PORT") and _URL_OF_SERVICE.fullmatch(text)))


def warnings(environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """Variables that ask for what they don't get, and why."""
    return [
        (
            name,
            f"{count} nodes are named, but each container is a cluster of its own; "
            f"for a cluster of {count} nodes give one container OTTLA_NODES={count}",
        )
        for name in _VOTERS
        if (count := len([voter for voter in environ.get(name, "").split(",") if voter.strip()])) > 1
    ]


def add_listeners(
    settings: Settings, listen: Sequence[str], advertise: Sequence[str]
) -> tuple[Sequence[str], Sequence[str]]:
    """`--listen` and `--advertise`, where nothing says where to listen: on every interface, as the images do.

    The ports are those that are advertised. cp-kafka: `cub listeners`, in its `configure`.
    """
    if listen or "listeners" in settings.given:
        return listen, advertise
    if "advertised.listeners" in settings.given:
        text = settings.given_texts["advertised.listeners"]
        settings.set("listeners", re.sub(r"://[^,]*:", "://0.0.0.0:", text))
        return listen, advertise
    if advertise:
        return [re.sub(r"^(.*://)?.*:", r"\g<1>0.0.0.0:", text) for text in advertise], advertise
    return [LISTEN], [ADVERTISE]


def _is_setting(name: str, text: str) -> bool:
    return name.startswith(PREFIX) and name not in _OF_SCRIPTS and not is_of_service(name, text)
