"""KAFKA_… variables as settings, as Kafka's container images take them: apache/kafka and confluentinc/cp-kafka.

    KAFKA_NUM_PARTITIONS=3                num.partitions=3
    KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS=0
    KAFKA_OTTLA_LOG_BYTES_MAX=1000000     ottla.log.bytes.max, which is ours
    KAFKA_CFG_NUM_PARTITIONS=3            as bitnami/kafka has it

_ is a dot, __ an underscore, ___ a dash. Variables for Java, ZooKeeper or a quorum of controllers are ignored without a
warning, and so are those that Docker's links and Kubernetes set for services called kafka.

Kafka: KafkaDockerWrapper.getServerConfigsFromEnv. cp-kafka: its `configure` and `kafka.properties.template`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ottla.settings.values import ConfigError

if TYPE_CHECKING:
    from ottla.settings.settings import Settings

PREFIX: Final = "KAFKA_"

#: bitnami/kafka's, for settings; its other variables have the first.
_PREFIXES: Final = ("KAFKA_CFG_", PREFIX)

#: What the images' scripts read themselves. Kafka: ExcludeServerPropsEnv.
_OF_SCRIPTS: Final = re.compile(
    "KAFKA_(DEBUG|GC_LOG_OPTS|HEAP_OPTS|HOME|JVM_PERFORMANCE_OPTS|OPTS|VERSION|JMX_.*|(TOOLS_)?LOG4J_.*)"
)
#: Settings of what is not here: controllers, ZooKeeper, an authorizer. What is Confluent's own. And variables that the
#: images make something else of than settings.
_NOT_HERE: Final = re.compile(
    r"process\.roles|((controller\.quorum|zookeeper|confluent|schema\.registry)\..*)"
    r"|super\.users|allow\.everyone\.if\.no\.acl\.found"
    r"|cluster\.id|kraft\.cluster\.id|enable\.kraft|create\.topics"
)
#: Docker's links and Kubernetes name the addresses of services so.
_OF_SERVICES: Final = re.compile(r"\w+_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_\w+)?)")
_URL_OF_SERVICE: Final = re.compile(r"(tcp|udp|sctp)://.*")

_VOTERS: Final = ("controller.quorum.voters", "controller.quorum.bootstrap.servers")
#: The settings for listeners before Kafka 3.0.
_OLD: Final = ("host.name", "port", "advertised.host.name", "advertised.port")
#: Where Kafka's image listens by default, and what it tells clients.
LISTEN: Final = "0.0.0.0:9092"
ADVERTISE: Final = "localhost:9092"


def read_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """The settings that the variables give, by name. Raises `ConfigError` where a controller alone is asked for."""
    settings: dict[str, str] = {}
    for name, variable, text in _given(environ):
        if name == "process.roles" and text.strip() == "controller":
            raise ConfigError(
                f"{variable}=controller: there are no controllers to run; leave this service out, "
                f"or write {variable}=broker,controller"
            )
        if not _NOT_HERE.fullmatch(name):
            settings[name] = text
    return _with_listeners_for_old(settings)


def setting_name(variable: str, prefix: str = PREFIX) -> str:
    """The setting that a variable is for."""
    name = variable.removeprefix(prefix).lower().replace("_", ".")
    return name.replace("...", "-").replace("..", "_")


def is_of_service(name: str, text: str) -> bool:
    """Whether Docker or Kubernetes set it: it has the address of a service of this name."""
    return bool(_OF_SERVICES.fullmatch(name) or (name.endswith("_PORT") and _URL_OF_SERVICE.fullmatch(text)))


def warnings(environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """Variables that ask for what they don't get, and why."""
    found = []
    for name, variable, text in _given(environ):
        count = len([entry for entry in text.split(",") if entry.strip()])
        if name in _VOTERS and count > 1:
            reason = (
                f"{count} nodes are named, but each container is a cluster of its own; "
                f"for a cluster of {count} nodes give one container OTTLA_NODES={count}"
            )
            found.append((variable, reason))
        elif name == "create.topics" and count:
            found.append((variable, "no topic is created from it; name a file with the topics: OTTLA_SEED"))
    return found


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


def _given(environ: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """The setting, the variable and the text of each that is meant for a broker."""
    for variable, text in environ.items():
        prefix = next((prefix for prefix in _PREFIXES if variable.startswith(prefix)), None)
        if prefix and not _OF_SCRIPTS.fullmatch(variable) and not is_of_service(variable, text):
            yield setting_name(variable, prefix), variable, text


def _with_listeners_for_old(settings: dict[str, str]) -> dict[str, str]:
    """With listeners where old compose files have a host and a port. Kafka 2.8: KafkaConfig.effectiveListeners."""
    old = {name: settings.pop(name) for name in _OLD if name in settings}
    if not old or "advertised.listeners" in settings:
        return settings
    host, port = old.get("host.name", ""), old.get("port", "9092")
    advertised = f"{old.get('advertised.host.name', host)}:{old.get('advertised.port', port)}"
    return {"listeners": f"PLAINTEXT://{host}:{port}", **settings, "advertised.listeners": f"PLAINTEXT://{advertised}"}
