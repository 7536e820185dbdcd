"""`ottla serve --from-environment`: variables as options and settings, as Kafka's container images take them."""

from __future__ import annotations

import argparse
import os
import re
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from ottla.broker.network.endpoints import read_endpoints
from ottla.cli import kafka_variables, serve
from ottla.cli.environment import Environment, read_environment
from ottla.protocol.messages.metadata import MetadataRequest
from ottla.settings.settings import Settings
from ottla.settings.values import ConfigError
from ottla.terminal.parser import Parser
from tests.cli.terminal import only_line, ottla, serving
from tests.support.client import Client
from tests.support.ports import free_ports


def parsed(*arguments: str) -> tuple[list[argparse.Action], argparse.Namespace]:
    """The options of `ottla serve`, and what the command line says of them."""
    parser = Parser()
    serve.add_to(parser.add_subparsers())
    options = parser.parse_args(["serve", *arguments])
    return options.run.args[0], options


def read(environ: Mapping[str, str], *arguments: str) -> tuple[Environment, argparse.Namespace]:
    """What `ottla serve --from-environment` makes of these variables."""
    actions, options = parsed("--from-environment", *arguments)
    environment = read_environment(options, actions, environ)
    assert environment is not None
    return environment, options


def clean(**variables: str) -> dict[str, str]:
    """The environment of the tests, with these variables alone of those that are read."""
    return {n: v for n, v in os.environ.items() if not n.startswith(("KAFKA_", "OTTLA_"))} | variables


def variables(text: str) -> dict[str, str]:
    """The words NAME=value of a text."""
    return {name: value for name, equals, value in (word.partition("=") for word in text.split()) if equals}


# ── Names ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

NAMES: Final = {
    "KAFKA_NUM_PARTITIONS": "num.partitions",
    "KAFKA_ADVERTISED_LISTENERS": "advertised.listeners",
    "KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS": "group.initial.rebalance.delay.ms",
    "KAFKA_WITH__UNDERSCORE": "with_underscore",
    "KAFKA_WITH___DASH": "with-dash",
    "KAFKA_FOUR____LINES": "four-.lines",
    "KAFKA_FIVE_____LINES": "five-_lines",
    "KAFKA_OTTLA_LOG_BYTES_MAX": "ottla.log.bytes.max",
    "KAFKA_kafka_KAFKA_": "kafka.kafka.",
    "KAFKA_CFG_NUM_PARTITIONS": "num.partitions",
    "KAFKA_CFGS": "cfgs",
}


@pytest.mark.parametrize(("variable", "setting"), NAMES.items())
def test_a_variable_names_a_setting_by_kafkas_rules(variable: str, setting: str) -> None:
    """_ is a dot, __ an underscore, ___ a dash; three are looked for before two, from the left."""
    assert kafka_variables.read_settings({variable: "value"}) == {setting: "value"}


QUIET: Final = variables(
    """
    ALLOW_PLAINTEXT_LISTENER=yes BITNAMI_DEBUG=yes CLUSTER_ID=4L6g3nShT-eMCtK--X86sw CONFLUENT_METRICS_ENABLE=true
    KAFKA_ALLOW_EVERYONE_IF_NO_ACL_FOUND=true KAFKA_CFG_CONTROLLER_QUORUM_VOTERS=0@kafka:9093
    KAFKA_CFG_PROCESS_ROLES=controller,broker KAFKA_CFG_ZOOKEEPER_CONNECT=zookeeper:2181
    KAFKA_CLUSTER_ID=4L6g3nShT-eMCtK--X86sw KAFKA_CONFLUENT_LICENSE_TOPIC_REPLICATION_FACTOR=1
    KAFKA_CONTROLLER_QUORUM_VOTERS=1@localhost:9093 KAFKA_CREATE_TOPICS= KAFKA_ENABLE_KRAFT=yes
    KAFKA_GC_LOG_OPTS=-Xlog:gc KAFKA_HEAP_OPTS=-Xmx512M KAFKA_JMX_HOSTNAME=localhost KAFKA_JMX_OPTS=-D
    KAFKA_JMX_PORT=9101 KAFKA_JVM_PERFORMANCE_OPTS=-server KAFKA_KRAFT_CLUSTER_ID=4L6g3nShT-eMCtK--X86sw
    KAFKA_LOG4J_LOGGERS=kafka=INFO KAFKA_LOG4J_OPTS=-D KAFKA_LOG4J_ROOT_LOGLEVEL=WARN KAFKA_OPTS=-D
    KAFKA_PORT=tcp://10.0.0.1:9092 KAFKA_PORT_9092_TCP_ADDR=10.0.0.1 KAFKA_PROCESS_ROLES=broker,controller
    KAFKA_SCHEMA_REGISTRY_URL=http://registry:8081 KAFKA_SERVICE_HOST=10.0.0.1 KAFKA_SERVICE_PORT_CLIENT=9092
    KAFKA_SUPER_USERS=User:ana KAFKA_TOOLS_LOG4J_LOGLEVEL=ERROR KAFKA_UI_PORT=tcp://10.0.0.1:8080
    KAFKA_VERSION=4.4.0 KAFKA_ZOOKEEPER_CONNECT=zookeeper:2181 OTTLA_BOOTSTRAP=ottla:9092 OTTLA_CONTROL_TOKEN=secret
    OTTLA_PORT=tcp://10.0.0.1:9092 OTTLA_TIMEOUT_S=60 PATH=/bin
    """
)


@pytest.mark.parametrize("variable", QUIET)
def test_what_has_no_meaning_here_is_left_out_without_a_word(variable: str) -> None:
    """Java's options, ZooKeeper's address, the one controller, and what Docker and Kubernetes put there."""
    environment, _ = read({variable: QUIET[variable]})
    assert (environment.settings, environment.ignored) == ({}, [])


def test_a_name_that_no_setting_has_is_warned_of_as_in_a_file() -> None:
    """It lands where unknown names of a server.properties land."""
    environment, _ = read({"KAFKA_NUM_PARTITION": "3", "KAFKA_CFG_NUM_PARTITIONES": "3"})
    assert set(Settings.read("", (), environment.settings).unknown) == {"num.partition", "num.partitiones"}


@pytest.mark.parametrize("variable", ["KAFKA_CONTROLLER_QUORUM_VOTERS", "KAFKA_CFG_CONTROLLER_QUORUM_VOTERS"])
def test_a_quorum_of_several_nodes_is_told_how_to_be_had(variable: str) -> None:
    """Three containers would be three clusters, which looks like lost records."""
    environment, _ = read({variable: "1@kafka-1:9093,2@kafka-2:9093,3@kafka-3:9093"})
    ((named, reason),) = environment.ignored
    assert named == variable
    assert reason.endswith("give one container OTTLA_NODES=3")


@pytest.mark.parametrize("variable", ["KAFKA_PROCESS_ROLES", "KAFKA_CFG_PROCESS_ROLES"])
def test_a_controller_alone_is_refused(variable: str) -> None:
    """It would be a broker that nobody asked for."""
    with pytest.raises(ConfigError, match=f"{variable}=controller: .* leave this service out"):
        read({variable: "controller"})


def test_topics_that_an_image_would_create_are_warned_of() -> None:
    """Who counts on three partitions gets one, and should know why."""
    environment, _ = read({"KAFKA_CREATE_TOPICS": "orders:3:1,menu:1:1:compact"})
    ((variable, reason),) = environment.ignored
    assert variable == "KAFKA_CREATE_TOPICS"
    assert reason.endswith("OTTLA_SEED")


# ── Options ───────────────────────────────────────────────────────────────────────────────────────────────────────────

OPTIONS: Final[dict[str, tuple[str, Any]]] = {
    "ADVERTISE": ("A://a:1,B://b:2", ["A://a:1", "B://b:2"]),
    "CLOCK": ("virtual", "virtual"),
    "CONFIG": ("/etc/server.properties", Path("/etc/server.properties")),
    "CONTROL": ("0.0.0.0:9644", "0.0.0.0:9644"),
    "CONTROL_TOKEN_FILE": ("/run/secrets/token", Path("/run/secrets/token")),
    "DATA_DIR": ("/data", Path("/data")),
    "JOURNAL": ("/data/journal", Path("/data/journal")),
    "LISTEN": ("A://a:1, B://b:2", ["A://a:1", "B://b:2"]),
    "LOG_FORMAT": ("json", "json"),
    "LOG_LEVEL": ("debug", "debug"),
    "NODES": ("3", 3),
    "READY_FILE": ("/dev/shm/ready", Path("/dev/shm/ready")),
    "RECORD_REQUESTS": ("true", True),
    "SEED": ("/seed.json", Path("/seed.json")),
}


def test_every_option_has_a_variable() -> None:
    """But for settings, which have variables of their own, and the token, which is read where it is needed."""
    actions, _ = parsed()
    assert {action.dest.upper() for action in actions} - {"HELP", "SET", "CONTROL_TOKEN"} == {
        *OPTIONS,
        "FROM_ENVIRONMENT",
    }


@pytest.mark.parametrize("name", OPTIONS)
def test_a_variable_is_an_option(name: str) -> None:
    """As if it stood on the command line."""
    text, value = OPTIONS[name]
    environment, options = read({f"OTTLA_{name}": text})
    assert getattr(options, name.lower()) == value
    assert environment.ignored == []


@pytest.mark.parametrize("name", OPTIONS)
def test_an_empty_variable_is_none(name: str) -> None:
    """As compose leaves it, with `${NODES:-}`."""
    _, options = read({f"OTTLA_{name}": ""})
    assert getattr(options, name.lower()) in (None, [])


@pytest.mark.parametrize(
    ("arguments", "variables", "name", "value"),
    [
        (["--nodes", "1"], {"OTTLA_NODES": "3"}, "nodes", 1),
        (["--clock", "system"], {"OTTLA_CLOCK": "virtual"}, "clock", "system"),
        (["--listen", "a:1"], {"OTTLA_LISTEN": "b:2"}, "listen", ["a:1"]),
        (["--record-requests"], {"OTTLA_RECORD_REQUESTS": "false"}, "record_requests", True),
        (["--set", "listeners=A://a:1"], {"OTTLA_LISTEN": "b:2"}, "listen", []),
        (["--set", "advertised.listeners=A://a:1"], {"OTTLA_ADVERTISE": "b:2"}, "advertise", []),
        (["--control-token", "t"], {"OTTLA_CONTROL_TOKEN_FILE": "/t"}, "control_token_file", None),
    ],
)
def test_the_command_line_wins(arguments: list[str], variables: dict[str, str], name: str, value: object) -> None:
    """Also where it says what holds anyway, or says it in another way."""
    _, options = read(variables, *arguments)
    assert getattr(options, name) == value


def test_settings_come_from_the_command_line_then_the_environment_then_the_file() -> None:
    """Each wins over those after it."""
    file = "num.partitions=1\nmessage.max.bytes=1\nlog.retention.ms=1"
    variables = {"KAFKA_NUM_PARTITIONS": "2", "KAFKA_MESSAGE_MAX_BYTES": "2"}
    settings = Settings.read(file, ["num.partitions=3"], read(variables)[0].settings)
    values = [settings[name] for name in ("num.partitions", "message.max.bytes", "log.retention.ms")]
    assert values == [3, 2, 1]


def test_a_setting_of_ours_has_a_variable_of_ours() -> None:
    """Nobody has to write KAFKA_OTTLA_…, though it works too."""
    environment, _ = read({"OTTLA_LOG_BYTES_MAX": "5"})
    assert environment.settings == {"ottla.log.bytes.max": "5"}


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("OTTLA_NODE", "OTTLA_NODES"),
        ("OTTLA_DATADIR", "OTTLA_DATA_DIR"),
        ("OTTLA_LOG_MAX_BYTES", "OTTLA_LOG_BYTES_MAX"),
    ],
)
def test_a_misspelt_variable_is_warned_of_with_the_nearest(variable: str, meant: str) -> None:
    """It would else have no effect, and nobody would know why."""
    environment, _ = read({variable: "3"})
    ((name, reason),) = environment.ignored
    assert name == variable
    assert reason.endswith(f"did you mean {meant}?")


@pytest.mark.parametrize(
    ("variable", "text", "said"),
    [
        ("OTTLA_NODES", "many", "OTTLA_NODES=many is not a whole number"),
        ("OTTLA_CLOCK", "virtaul", "OTTLA_CLOCK=virtaul can't be used; did you mean virtual?"),
        ("OTTLA_RECORD_REQUESTS", "maybe", "OTTLA_RECORD_REQUESTS=maybe is neither true nor false"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused(variable: str, text: str, said: str) -> None:
    """The line names the variable, for there is no option to look at."""
    with pytest.raises(ConfigError, match=said.replace("?", r"\?")):
        read({variable: text})


# ── Whether it is asked ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("arguments", "variables", "is_asked"),
    [
        ([], {}, False),
        ([], {"OTTLA_FROM_ENVIRONMENT": ""}, False),
        ([], {"OTTLA_FROM_ENVIRONMENT": "false"}, False),
        ([], {"OTTLA_FROM_ENVIRONMENT": "true"}, True),
        (["--from-environment"], {}, True),
        (["--from-environment"], {"OTTLA_FROM_ENVIRONMENT": "false"}, True),
    ],
)
def test_the_environment_is_asked_only_on_demand(
    arguments: list[str], variables: dict[str, str], is_asked: bool
) -> None:
    """By the option, or by its variable, which an image sets."""
    actions, options = parsed(*arguments)
    assert (read_environment(options, actions, {"OTTLA_NODES": "3", **variables}) is not None) is is_asked
    assert options.nodes == (3 if is_asked else None)


def test_a_stray_variable_changes_no_broker() -> None:
    """What somebody's shell has must not change what a test sees."""
    with serving(env=clean(OTTLA_NODES="3", KAFKA_BROKER_ID="7", KAFKA_PROCESS_ROLES="controller")) as broker:
        assert "nodes" not in broker.ready
        with Client(broker.bootstrap) as client:
            assert [node.node_id for node in client.ask(MetadataRequest(), 1).brokers] == [1]


# ── As compose files have it ──────────────────────────────────────────────────────────────────────────────────────────

#: Variables of compose files, and below them the listeners: NAME, where it listens, what clients are told.
_COMPOSE: Final = """
# apache/kafka without a word
-> PLAINTEXT 0.0.0.0:9092 localhost:9092
# apache/kafka with a setting
KAFKA_NUM_PARTITIONS=3
-> PLAINTEXT 0.0.0.0:9092 localhost:9092
# apache/kafka, one node
KAFKA_NODE_ID=1 KAFKA_PROCESS_ROLES=broker,controller
KAFKA_LISTENERS=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:9092 KAFKA_CONTROLLER_LISTENER_NAMES=CONTROLLER
KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
KAFKA_CONTROLLER_QUORUM_VOTERS=1@localhost:9093 KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR=1
KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR=1 KAFKA_TRANSACTION_STATE_LOG_MIN_ISR=1
KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS=0 KAFKA_NUM_PARTITIONS=3
-> PLAINTEXT localhost:9092 localhost:9092
# apache/kafka, a listener for the host
KAFKA_NODE_ID=1 KAFKA_PROCESS_ROLES=broker,controller
KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,PLAINTEXT_HOST:PLAINTEXT
KAFKA_CONTROLLER_QUORUM_VOTERS=1@broker:29093
KAFKA_LISTENERS=CONTROLLER://:29093,PLAINTEXT_HOST://:9092,PLAINTEXT://:19092
KAFKA_INTER_BROKER_LISTENER_NAME=PLAINTEXT
KAFKA_ADVERTISED_LISTENERS=PLAINTEXT_HOST://localhost:9092,PLAINTEXT://broker:19092
KAFKA_CONTROLLER_LISTENER_NAMES=CONTROLLER CLUSTER_ID=4L6g3nShT-eMCtK--X86sw KAFKA_LOG_DIRS=/tmp/kraft-combined-logs
-> PLAINTEXT_HOST :9092 localhost:9092
-> PLAINTEXT :19092 broker:19092
# cp-kafka with ZooKeeper
KAFKA_BROKER_ID=1 KAFKA_ZOOKEEPER_CONNECT=zookeeper:2181
KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://kafka:9092,PLAINTEXT_HOST://localhost:29092
KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=PLAINTEXT:PLAINTEXT,PLAINTEXT_HOST:PLAINTEXT
KAFKA_INTER_BROKER_LISTENER_NAME=PLAINTEXT KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR=1
-> PLAINTEXT 0.0.0.0:9092 kafka:9092
-> PLAINTEXT_HOST 0.0.0.0:29092 localhost:29092
# cp-kafka, KRaft
KAFKA_NODE_ID=1 KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,PLAINTEXT_HOST:PLAINTEXT
KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://broker:29092,PLAINTEXT_HOST://localhost:9092 KAFKA_JMX_PORT=9101
KAFKA_JMX_HOSTNAME=localhost KAFKA_PROCESS_ROLES=broker,controller KAFKA_CONTROLLER_QUORUM_VOTERS=1@broker:29093
KAFKA_LISTENERS=PLAINTEXT://broker:29092,CONTROLLER://broker:29093,PLAINTEXT_HOST://0.0.0.0:9092
KAFKA_INTER_BROKER_LISTENER_NAME=PLAINTEXT KAFKA_CONTROLLER_LISTENER_NAMES=CONTROLLER
KAFKA_LOG_DIRS=/tmp/kraft-combined-logs CLUSTER_ID=MkU3OEVBNTcwNTJENDM2Qk
-> PLAINTEXT broker:29092 broker:29092
-> PLAINTEXT_HOST 0.0.0.0:9092 localhost:9092
# cp-server, with what is Confluent's own
KAFKA_BROKER_ID=1 KAFKA_ZOOKEEPER_CONNECT=zookeeper:2181
KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=PLAINTEXT:PLAINTEXT,PLAINTEXT_HOST:PLAINTEXT
KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://broker:29092,PLAINTEXT_HOST://localhost:9092
KAFKA_METRIC_REPORTERS=io.confluent.metrics.reporter.ConfluentMetricsReporter
KAFKA_CONFLUENT_BALANCER_TOPIC_REPLICATION_FACTOR=1 KAFKA_CONFLUENT_SCHEMA_REGISTRY_URL=http://schema-registry:8081
CONFLUENT_METRICS_REPORTER_BOOTSTRAP_SERVERS=broker:29092 CONFLUENT_SUPPORT_CUSTOMER_ID=anonymous
-> PLAINTEXT 0.0.0.0:29092 broker:29092
-> PLAINTEXT_HOST 0.0.0.0:9092 localhost:9092
# cp-kafka, three listeners and an authorizer
KAFKA_ADVERTISED_LISTENERS=INTERNAL://kafka1:19092,EXTERNAL://127.0.0.1:9092,DOCKER://host.docker.internal:29092
KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=INTERNAL:PLAINTEXT,EXTERNAL:PLAINTEXT,DOCKER:PLAINTEXT
KAFKA_INTER_BROKER_LISTENER_NAME=INTERNAL KAFKA_ZOOKEEPER_CONNECT=zoo1:2181 KAFKA_BROKER_ID=1
KAFKA_LOG4J_LOGGERS=kafka.controller=INFO,state.change.logger=INFO
KAFKA_AUTHORIZER_CLASS_NAME=kafka.security.authorizer.AclAuthorizer KAFKA_ALLOW_EVERYONE_IF_NO_ACL_FOUND=true
-> INTERNAL 0.0.0.0:19092 kafka1:19092
-> EXTERNAL 0.0.0.0:9092 127.0.0.1:9092
-> DOCKER 0.0.0.0:29092 host.docker.internal:29092
# bitnami/kafka, KRaft
ALLOW_PLAINTEXT_LISTENER=yes KAFKA_ENABLE_KRAFT=yes KAFKA_KRAFT_CLUSTER_ID=MkU3OEVBNTcwNTJENDM2Qk KAFKA_CFG_NODE_ID=0
KAFKA_CFG_PROCESS_ROLES=controller,broker KAFKA_CFG_CONTROLLER_QUORUM_VOTERS=0@kafka:9093
KAFKA_CFG_CONTROLLER_LISTENER_NAMES=CONTROLLER
KAFKA_CFG_LISTENERS=PLAINTEXT://:9092,CONTROLLER://:9093,EXTERNAL://:9094
KAFKA_CFG_ADVERTISED_LISTENERS=PLAINTEXT://kafka:9092,EXTERNAL://localhost:9094
KAFKA_CFG_LISTENER_SECURITY_PROTOCOL_MAP=CONTROLLER:PLAINTEXT,EXTERNAL:PLAINTEXT,PLAINTEXT:PLAINTEXT
-> PLAINTEXT :9092 kafka:9092
-> EXTERNAL :9094 localhost:9094
# bitnami/kafka with ZooKeeper
ALLOW_PLAINTEXT_LISTENER=yes KAFKA_BROKER_ID=1 KAFKA_CFG_ZOOKEEPER_CONNECT=zookeeper:2181
KAFKA_CFG_LISTENERS=PLAINTEXT://:9092 KAFKA_CFG_ADVERTISED_LISTENERS=PLAINTEXT://127.0.0.1:9092
KAFKA_CFG_AUTO_CREATE_TOPICS_ENABLE=true
-> PLAINTEXT :9092 127.0.0.1:9092
# a host without a name, inside
KAFKA_LISTENERS=INSIDE://:9092,OUTSIDE://:9094 KAFKA_ADVERTISED_LISTENERS=INSIDE://:9092,OUTSIDE://localhost:9094
KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT KAFKA_INTER_BROKER_LISTENER_NAME=INSIDE
-> INSIDE :9092 HOSTNAME:9092
-> OUTSIDE :9094 localhost:9094
# a host and a port, as before Kafka 3
KAFKA_ADVERTISED_HOST_NAME=10.51.20.123 KAFKA_ZOOKEEPER_CONNECT=zookeeper:2181
-> PLAINTEXT :9092 10.51.20.123:9092
# a host and a port, all of them
KAFKA_HOST_NAME=127.0.0.1 KAFKA_PORT=9093 KAFKA_ADVERTISED_HOST_NAME=localhost KAFKA_ADVERTISED_PORT=29093
-> PLAINTEXT 127.0.0.1:9093 localhost:29093
# a host beside listeners, which win
KAFKA_ADVERTISED_HOST_NAME=kafka KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:9092
-> PLAINTEXT 0.0.0.0:9092 localhost:9092
# a controller that is advertised, as Kafka 4 allows
KAFKA_ADVERTISED_LISTENERS=BROKER://kafka:9092,CONTROLLER://kafka:9093 KAFKA_CONTROLLER_LISTENER_NAMES=CONTROLLER
KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT KAFKA_INTER_BROKER_LISTENER_NAME=BROKER
-> BROKER 0.0.0.0:9092 kafka:9092
# an IPv6 address
KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://[2001:db8::1]:9092
-> PLAINTEXT 0.0.0.0:9092 [2001:db8::1]:9092
# our own words for what is advertised
OTTLA_ADVERTISE=ottla:9092,HOST://localhost:29092
-> PLAINTEXT 0.0.0.0:9092 ottla:9092
-> HOST 0.0.0.0:29092 localhost:29092
# our own words for both, which win
KAFKA_LISTENERS=PLAINTEXT://:9092 OTTLA_LISTEN=HOST://0.0.0.0:29092 OTTLA_ADVERTISE=HOST://localhost:29092
-> HOST 0.0.0.0:29092 localhost:29092
"""
COMPOSE: Final = dict(block.split("\n", 1) for block in _COMPOSE.split("# ")[1:])


@pytest.mark.parametrize("name", COMPOSE)
def test_a_compose_file_for_kafka_gets_the_listeners_it_would_have(name: str) -> None:
    """Where it listens and what clients are told, as Kafka's images would; the controllers' listener is left out."""
    environment, options = read(variables(COMPOSE[name]))
    settings = Settings.read("", (), environment.settings)
    listen, advertise = environment.listeners(settings, options.listen, options.advertise)
    endpoints = read_endpoints(settings, listen, advertise)
    expected = COMPOSE[name].replace("HOSTNAME", socket.getfqdn()).splitlines()
    listeners = [f"-> {e.name} {e.listen} {e.advertise}" for e in endpoints]
    assert listeners == [line for line in expected if line.startswith("->")]
    assert environment.ignored == []
    assert settings.unknown == {}


def test_a_broker_serves_with_the_variables_of_a_compose_file() -> None:
    """Both listeners accept, and each names its own address; nothing is warned of."""
    inside, host = free_ports(2)
    ports = {"29092": str(inside), "9092": str(host), "broker": "127.0.0.1", "localhost": "127.0.0.1"}
    given = variables(COMPOSE["cp-kafka, KRaft"])
    for name in ("KAFKA_LISTENERS", "KAFKA_ADVERTISED_LISTENERS"):
        given[name] = re.sub(r"\w+", lambda word: ports.get(word[0], word[0]), given[name])
    env = clean(OTTLA_FROM_ENVIRONMENT="true", **given)
    with serving(listen=None, env=env) as broker:
        assert broker.ready == {
            "bootstrap": f"127.0.0.1:{inside}",
            "listener.plaintext_host": f"127.0.0.1:{host}",
        }
        for port in (inside, host):
            with Client(f"127.0.0.1:{port}") as client:
                (node,) = client.ask(MetadataRequest(), 1).brokers
                assert (node.host, node.port, node.node_id) == ("127.0.0.1", port, 1)
        broker.stop()
        assert "warning" not in {event["level"] for event in broker.logged()}


def test_what_the_environment_has_wrong_is_one_line_and_exit_code_2() -> None:
    """It names the variable."""
    ended = ottla("serve", env=clean(OTTLA_FROM_ENVIRONMENT="true", OTTLA_NODES="many"))
    assert "OTTLA_NODES=many is not a whole number" in only_line(ended.stderr)
    assert ended.returncode == 2
