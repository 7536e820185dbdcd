"""DescribeConfigs, AlterConfigs, IncrementalAlterConfigs: topics, the broker, groups, what is none of these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ottla.conformance.scene import Scene
from ottla.conformance.script import Exempt, every, script
from ottla.protocol.messages.alter_configs import AlterConfigsRequest
from ottla.protocol.messages.describe_configs import DescribeConfigsRequest
from ottla.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)

#: Settings a broker of ours has too, with the meaning and the default they have in Kafka.
BROKER_SETTINGS = (
    "auto.create.topics.enable", "num.partitions", "default.replication.factor", "message.max.bytes",
    "offsets.retention.minutes", "group.min.session.timeout.ms", "group.initial.rebalance.delay.ms",
    "log.retention.ms", "log.retention.hours", "log.cleanup.policy", "compression.type", "node.id",
    "max.decompressed.message.bytes", "group.streams.assignors", "log.remote.copy.lag.bytes",
)  # fmt: skip


def _describe(
    kind: int, name: str, keys: Sequence[str] | None = None, *, synonyms: bool = False, documentation: bool = False
) -> DescribeConfigsRequest:
    resource = DescribeConfigsRequest.DescribeConfigsResource(resource_type=kind, resource_name=name)
    resource.configuration_keys = None if keys is None else list(keys)
    return DescribeConfigsRequest(resources=[resource], include_synonyms=synonyms, include_documentation=documentation)


@script(versions=every("DescribeConfigs"))
def describe_topic_configs(scene: Scene, version: int) -> None:
    """All settings of a topic; a few; none that exists; with synonyms; with words about them."""
    topic = scene.topic(configs={"retention.ms": "86400000", "cleanup.policy": "compact"})
    ana = scene.actor()
    ana.ask(_describe(TOPIC, topic))
    ana.ask(_describe(TOPIC, topic, ["retention.ms", "no.such.setting"]))
    ana.ask(_describe(TOPIC, topic, ["no.such.setting"]))
    ana.ask(_describe(TOPIC, topic, []))
    ana.ask(_describe(TOPIC, topic, ["retention.ms", "retention.bytes", "max.message.bytes"], synonyms=True))
    if version >= 3:
        ana.ask(_describe(TOPIC, topic, ["retention.ms"], documentation=True))


@script(
    versions=every("DescribeConfigs"),
    needs=(
        "node.id",
        "group.min.session.timeout.ms",
        "group.initial.rebalance.delay.ms",
    ),
)
def describe_broker_configs(scene: Scene, version: int) -> None:
    """Some settings of the broker; the cluster's defaults, of which there is one."""
    ana = scene.actor()
    ana.ask(_describe(BROKER, "1", BROKER_SETTINGS))
    ana.ask(_describe(BROKER, "1", BROKER_SETTINGS[:4], synonyms=True))
    ana.ask(_describe(BROKER, "1", ["no.such.setting"]))


@script(versions=every("DescribeConfigs"))
def describe_configs_wrongly(scene: Scene, version: int) -> None:
    """Unknown topics and brokers, bad names, unknown kinds."""
    ana = scene.actor()
    for kind, name in (
        (TOPIC, scene.name("absent")),
        (TOPIC, "bad name"),
        (TOPIC, ""),
        (BROKER, "9"),
        (BROKER, "abc"),
        (GROUP, ""),
        (3, "x"),
        (0, "x"),
    ):
        ana.ask(_describe(kind, name))
    ana.ask(DescribeConfigsRequest(resources=[]))


def _incremental(
    kind: int, name: str, *changes: tuple[str, int, str | None], validate_only: bool = False
) -> IncrementalAlterConfigsRequest:
    return IncrementalAlterConfigsRequest(
        validate_only=validate_only,
        resources=[
            IncrementalAlterConfigsRequest.AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[
                    IncrementalAlterConfigsRequest.AlterableConfig(name=key, config_operation=operation, value=value)
                    for key, operation, value in changes
                ],
            )
        ],
    )


@script(versions=every("IncrementalAlterConfigs"))
def alter_topic_configs(scene: Scene, version: int) -> None:
    """Set, delete, append to a list, take from it; the topic shows what came of it."""
    topic = scene.topic()
    ana = scene.actor()
    shown = ("retention.ms", "cleanup.policy", "max.message.bytes")

    def ask(*changes: tuple[str, int, str | None]) -> None:
        ana.ask(_incremental(TOPIC, topic, *changes))
        scene.until_settled()
        ana.ask(_describe(TOPIC, topic, shown), 1)

    ask(("retention.ms", SET, "1000"), ("max.message.bytes", SET, "2000"))
    ask(("cleanup.policy", APPEND, "compact"))
    ask(("cleanup.policy", APPEND, "compact"))
    ask(("cleanup.policy", SUBTRACT, "delete"))
    ask(("cleanup.policy", SUBTRACT, "nothing"))
    ask(("retention.ms", DELETE, None), ("cleanup.policy", DELETE, None))
    ask(("retention.ms", DELETE, None))
    ana.ask(_incremental(TOPIC, topic, ("retention.ms", SET, "5000"), validate_only=True))
    ana.ask(_incremental(TOPIC, topic, ("retention.ms", SET, "abc"), validate_only=True))
    ask()


@script(versions=every("IncrementalAlterConfigs"))
def alter_topic_configs_wrongly(scene: Scene, version: int) -> None:
    """Unknown names, bad values, null, one key twice, lists and no lists, unknown operations and topics."""
    topic = scene.topic()
    ana = scene.actor()
    for changes in (
        [("no.such.setting", SET, "1")],
        [("no.such.setting", DELETE, None)],
        [("retention.ms", SET, "abc")],
        [("retention.ms", SET, None)],
        [("retention.ms", APPEND, "1")],
        [("retention.ms", SUBTRACT, "1")],
        [("cleanup.policy", APPEND, None)],
        [("cleanup.policy", SET, "shred")],
        [("cleanup.policy", APPEND, "shred")],
        [("retention.ms", SET, "1"), ("retention.ms", SET, "2")],
        [("retention.ms", SET, "1"), ("retention.ms", DELETE, None)],
        [("retention.ms", 9, "1")],
        [("retention.ms", -1, "1")],
        [("retention.ms", SET, "7000"), ("segment.bytes", SET, "1")],
        [("", SET, "1")],
    ):
        ana.ask(_incremental(TOPIC, topic, *changes))
    ana.ask(_describe(TOPIC, topic, ["retention.ms"]), 1)
    for kind, name in (
        (TOPIC, scene.name("absent")),
        (TOPIC, ""),
        (TOPIC, "bad name"),
        (BROKER, "9"),
        (BROKER, "abc"),
        (3, "x"),
        (0, "x"),
    ):
        ana.ask(_incremental(kind, name, ("retention.ms", SET, "1000")))
    twice = _incremental(TOPIC, topic, ("retention.ms", SET, "1000"))
    twice.resources *= 2
    ana.ask(twice)
    ana.ask(IncrementalAlterConfigsRequest(resources=[]))
    two = _incremental(TOPIC, topic, ("retention.ms", SET, "1000"))
    two.resources += _incremental(TOPIC, scene.name("other"), ("retention.ms", SET, "1000")).resources
    ana.ask(two)


@script(versions=every("IncrementalAlterConfigs"), needs=("node.id",))
def alter_by_operations_that_are_refused(scene: Scene, version: int) -> None:
    """Brokers look for unknown operations before anything else; loggers are no lists, and must be there."""
    ana = scene.actor()
    for changes in (
        [("compression.type", SUBTRACT, "gzip"), ("num.io.threads", 4, "1")],
        [("num.io.threads", 4, "1"), ("compression.type", SUBTRACT, "gzip")],
    ):
        for name in ("", "1"):
            ana.ask(_incremental(BROKER, name, *changes, validate_only=True))
    for operation in (SET, DELETE, APPEND, SUBTRACT, 4):
        ana.ask(_incremental(LOGGER, "1", ("no.such.logger", operation, "INFO")))
    ana.ask(_incremental(LOGGER, "1"))


@script(versions=every("AlterConfigs"))
def replace_topic_configs(scene: Scene, version: int) -> None:
    """The older way: what is not listed goes back to its default."""
    topic = scene.topic(configs={"retention.ms": "1000"})
    ana = scene.actor()

    def ask(name: str, configs: Mapping[str, str | None], *, kind: int = TOPIC, validate_only: bool = False) -> None:
        ana.ask(
            AlterConfigsRequest(
                validate_only=validate_only,
                resources=[
                    AlterConfigsRequest.AlterConfigsResource(
                        resource_type=kind,
                        resource_name=name,
                        configs=[
                            AlterConfigsRequest.AlterableConfig(name=key, value=value) for key, value in configs.items()
                        ],
                    )
                ],
            )
        )

    ask(topic, {"max.message.bytes": "2000"})
    scene.until_settled()
    ana.ask(_describe(TOPIC, topic, ["retention.ms", "max.message.bytes"]), 1)
    ask(topic, {"retention.ms": "5000"}, validate_only=True)
    ask(topic, {"no.such.setting": "1"})
    ask(topic, {"retention.ms": "abc"})
    ask(topic, {"retention.ms": None})
    ask(topic, {})
    scene.until_settled()
    ana.ask(_describe(TOPIC, topic, ["retention.ms", "max.message.bytes"]), 1)
    ask(scene.name("absent"), {"retention.ms": "1000"})
    ask("", {"retention.ms": "1000"})
    ask("9", {"message.max.bytes": "1000"}, kind=BROKER)
    ask("x", {"a": "b"}, kind=3)


@script(
    versions=every("AlterConfigs"),
    differs="Kafka never answers an AlterConfigs that lists a resource twice; nobody should hang",
)
def replace_configs_of_a_topic_twice(scene: Scene, version: int) -> None:
    """In one request: which of the two should count? IncrementalAlterConfigs is told INVALID_REQUEST."""
    topic = scene.topic()
    one = AlterConfigsRequest.AlterConfigsResource(
        resource_type=TOPIC,
        resource_name=topic,
        configs=[AlterConfigsRequest.AlterableConfig(name="retention.ms", value="1000")],
    )
    ana = scene.actor()
    ana.send(AlterConfigsRequest(resources=[one, one]))
    ana.hear_nothing()


@script(
    versions=(1,),
    exempt=[Exempt("documentation", "only its presence could be compared, and we have none")],
    needs=("node.id",),
)
def settings_of_a_changed_broker(scene: Scene, version: int) -> None:
    """A setting that may change while the broker runs is set for it, shown, and taken back."""
    scene.amends.append((_incremental(BROKER, "1", ("message.max.bytes", DELETE, None)), 1))
    ana = scene.actor()
    for change in (("message.max.bytes", SET, "1000000"), ("message.max.bytes", DELETE, None)):
        ana.ask(_incremental(BROKER, "1", change))
        scene.until_settled()
        ana.ask(_describe(BROKER, "1", ["message.max.bytes"], synonyms=True), 1)
    ana.ask(_incremental(BROKER, "1", ("message.max.bytes", SET, "abc")))
    ana.ask(_incremental(BROKER, "1", ("node.id", SET, "7")))


@script(versions=(1,), needs=("node.id",))
def settings_of_a_changed_cluster(scene: Scene, version: int) -> None:
    """What is set for all brokers shows for each, and in its topics; a few things can't be set or taken away."""
    topic = scene.topic()
    ana = scene.actor()
    names = ("log.retention.ms", "log.cleanup.policy", "my.plugin.setting")
    taken_back = _incremental(BROKER, "", *((name, DELETE, None) for name in names))
    scene.amends.append((taken_back, 1))

    def show() -> None:
        scene.until_settled()
        ana.ask(_describe(BROKER, "", synonyms=True), 1)
        ana.ask(_describe(BROKER, "1", ["log.retention.ms", "log.retention.hours"], synonyms=True), 1)
        ana.ask(_describe(TOPIC, topic, ["retention.ms", "cleanup.policy"], synonyms=True), 1)

    show()
    ana.ask(
        _incremental(
            BROKER, "", ("log.retention.ms", SET, " 86400000 "), ("log.cleanup.policy", APPEND, "compact"),
            ("my.plugin.setting", SET, "x"),
        )
    )  # fmt: skip
    show()
    for change in (
        ("min.insync.replicas", DELETE, None),
        ("num.partitions", SET, "2"),
        ("listeners", SET, "PLAINTEXT://:1"),
        ("ssl.keystore.location", SET, "x"),
        ("message.max.bytes", SET, "-1"),
        ("message.max.bytes", APPEND, "1"),
        ("my.plugin.setting", APPEND, "1"),
        ("message.max.bytes", 9, "1"),
    ):
        ana.ask(_incremental(BROKER, "", change))
    ana.ask(_incremental(BROKER, "1", ("min.insync.replicas", SET, "1")))
    ana.ask(taken_back)
    show()


@script(versions=(1,))
def odd_values_of_topic_configs(scene: Scene, version: int) -> None:
    """Blanks, empty lists, items twice, levels, ratios, and values that don't go together."""
    topic = scene.topic()
    ana = scene.actor()
    for changes in (
        [("retention.ms", SET, " 7 "), ("cleanup.policy", SET, " compact , delete,compact")],
        [("cleanup.policy", SET, "")],
        [("cleanup.policy", SET, "compact,,delete")],
        [("preallocate", SET, "TRUE")],
        [("preallocate", SET, "yes")],
        [("retention.ms", SET, "-1")],
        [("retention.ms", SET, "-2")],
        [("retention.ms", SET, "9223372036854775808")],
        [("max.message.bytes", SET, "2147483648")],
        [("compression.gzip.level", SET, "0")],
        [("compression.gzip.level", SET, "-1"), ("compression.lz4.level", SET, "17")],
        [("compression.zstd.level", SET, "23")],
        [("compression.type", SET, "GZIP")],
        [("min.cleanable.dirty.ratio", SET, "0.00001")],
        [("min.cleanable.dirty.ratio", SET, "1.01")],
        [("min.compaction.lag.ms", SET, "100"), ("max.compaction.lag.ms", SET, "10")],
        [("remote.storage.enable", SET, "true")],
        [("leader.replication.throttled.replicas", SET, "*")],
        [("leader.replication.throttled.replicas", SET, "0:1, 1:2")],
        [("leader.replication.throttled.replicas", SET, "everybody")],
        [("internal.segment.bytes", SET, "100")],
        [("message.format.version", SET, "2.0")],
    ):
        ana.ask(_incremental(TOPIC, topic, *changes))
    scene.until_settled()
    ana.ask(_describe(TOPIC, topic, synonyms=True), 1)


@script(versions=(1,))
def configs_of_groups(scene: Scene, version: int) -> None:
    """A group need not exist to have some; they keep within the broker's bounds."""
    group = scene.name("group")
    ana = scene.actor()
    ana.ask(_describe(GROUP, group, synonyms=True), 1)
    for changes in (
        [("consumer.session.timeout.ms", SET, "50000"), ("share.auto.offset.reset", SET, "by_duration:PT1H")],
        [("consumer.session.timeout.ms", SET, "1")],
        [("consumer.session.timeout.ms", SET, "60001")],
        [("consumer.heartbeat.interval.ms", SET, "4999")],
        [("consumer.heartbeat.interval.ms", APPEND, "1")],
        [("streams.num.standby.replicas", SET, "3")],
        [("streams.num.warmup.replicas", SET, "21")],
        [("streams.num.warmup.replicas", SET, "3"), ("streams.acceptable.recovery.lag", SET, "9")],
        [("streams.task.offset.interval.ms", SET, "14999")],
        [("streams.assignor.name", SET, "slippery")],
        [("streams.assignor.name", SET, "sticky")],
        [("streams.rack.aware.assignment.tags", SET, "zone,zone")],
        [("streams.rack.aware.assignment.tags", SET, "zone, rack")],
        [("streams.rack.aware.assignment.tags", APPEND, "rack,room")],
        [("errors.deadletterqueue.topic.name", SET, "__dlq")],
        [("errors.deadletterqueue.topic.name", SET, "bad name")],
        [("errors.deadletterqueue.copy.record.enable", SET, "yes")],
        [("consumer.assignor.offload.enable", SET, "false"), ("share.assignor.offload.enable", SET, "maybe")],
        [("consumer.assignor.offload.enable", SET, "false")],
        [("share.session.timeout.ms", SET, "45000"), ("share.heartbeat.interval.ms", SET, "15000")],
        [("share.delivery.count.limit", SET, "11")],
        [("share.auto.offset.reset", SET, "sometimes")],
        [("share.isolation.level", SET, "none")],
        [("no.such.setting", SET, "1")],
        [("no.such.setting", DELETE, None)],
        [("consumer.session.timeout.ms", 9, "1")],
    ):
        ana.ask(_incremental(GROUP, group, *changes))
    ana.ask(_incremental(GROUP, "", ("consumer.session.timeout.ms", SET, "50000")))
    scene.until_settled()
    ana.ask(_describe(GROUP, group, synonyms=True), 1)


@script(versions=(1,))
def configs_of_metrics_subscriptions(scene: Scene, version: int) -> None:
    """Three names, each with its own rule."""
    subscription = scene.name("subscription")
    ana = scene.actor()
    for changes in (
        [("interval.ms", SET, "1000"), ("match", SET, "client_id=a.*"), ("metrics", SET, "*")],
        [("interval.ms", SET, "99")],
        [("interval.ms", SET, "abc")],
        [("match", SET, "colour=red")],
        [("no.such.setting", SET, "1")],
    ):
        ana.ask(_incremental(METRICS, subscription, *changes))
    ana.ask(_incremental(METRICS, "", ("interval.ms", SET, "1000")))
    scene.until_settled()
    ana.ask(_describe(METRICS, subscription, synonyms=True), 1)
    ana.ask(_describe(METRICS, scene.name("other"), synonyms=True), 1)
    ana.ask(_describe(METRICS, ""), 1)
