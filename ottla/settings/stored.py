"""Kafka's settings that this broker accepts, checks and shows, and that have no effect here.

One a line: name, type, default, range, and when a change takes effect. A default of `-` is none, of `''` is empty; a
range is `least..` or `least..most`, or the values that are allowed. Without a word for it a setting is read-only;
`internal` settings are shown only when they are given.

Kafka: AbstractKafkaConfig.CONFIG_DEF and DynamicBrokerConfig.dynamicConfigUpdateModes; a test has both printed.
"""

from __future__ import annotations

from typing import Any, Final

from ottla.settings.setting import READ_ONLY, Setting
from ottla.settings.values import parse_value

_ROWS: Final = """
alter.config.policy.class.name class - -
alter.log.dirs.replication.quota.window.num int 11 1..
alter.log.dirs.replication.quota.window.size.seconds int 1 1..
authorizer.class.name string '' -
background.threads int 10 1.. cluster-wide
broker.heartbeat.interval.ms int 2000 -
broker.session.timeout.ms int 9000 -
client.quota.callback.class class - -
config.providers list '' - cluster-wide
connection.failed.authentication.delay.ms int 100 0..
connections.max.reauth.ms long 0 -
controlled.shutdown.enable boolean true -
controller.performance.always.log.threshold.ms long 2000 0.. internal
controller.performance.sample.period.ms long 60000 100.. internal
controller.quorum.append.linger.ms int 25 0..
controller.quorum.auto.join.enable boolean false -
controller.quorum.bootstrap.servers list '' -
controller.quorum.election.backoff.max.ms int 1000 0..
controller.quorum.election.timeout.ms int 1000 0..
controller.quorum.fetch.max.bytes int 1048576 1..
controller.quorum.fetch.snapshot.max.bytes int 1048576 1..
controller.quorum.fetch.timeout.ms int 2000 0..
controller.quorum.request.timeout.ms int 2000 0..
controller.quorum.retry.backoff.ms int 20 0..
controller.quorum.voters list '' -
controller.quota.window.num int 11 1..
controller.quota.window.size.seconds int 1 1..
controller.socket.timeout.ms int 30000 -
cordoned.log.dirs list '' - per-broker
create.topic.policy.class.name class - -
delegation.token.expiry.check.interval.ms long 3600000 1..
delegation.token.expiry.time.ms long 86400000 1..
delegation.token.max.lifetime.ms long 604800000 1..
delegation.token.secret.key password - -
delete.records.purgatory.purge.interval.requests int 1 -
early.start.listeners list - -
errors.deadletterqueue.auto.create.topics.enable boolean false - cluster-wide
errors.deadletterqueue.topic.name.prefix string dlq. - cluster-wide
fetch.purgatory.purge.interval.requests int 1000 -
follower.fetch.last.tiered.offset.enable boolean false - cluster-wide
follower.replication.throttled.rate long 9223372036854775807 0.. cluster-wide internal
group.consumer.assignment.interval.ms int 1000 0.. cluster-wide
group.consumer.assignor.offload.enable boolean true - cluster-wide internal
group.consumer.assignors list uniform,range -
group.consumer.heartbeat.interval.ms int 5000 1..
group.consumer.max.assignment.interval.ms int 15000 0..
group.consumer.max.heartbeat.interval.ms int 15000 1..
group.consumer.max.session.timeout.ms int 60000 1..
group.consumer.max.size int 2147483647 1..
group.consumer.migration.policy string bidirectional -
group.consumer.min.assignment.interval.ms int 0 0..
group.consumer.min.heartbeat.interval.ms int 5000 1..
group.consumer.min.session.timeout.ms int 45000 1..
group.consumer.regex.refresh.interval.ms int 600000 10000.. internal
group.consumer.session.timeout.ms int 45000 1..
group.coordinator.append.linger.ms int -1 -1..
group.coordinator.background.threads int 2 1..
group.coordinator.cached.buffer.max.bytes int 1048588 524288.. cluster-wide
group.coordinator.rebalance.protocols list classic,consumer,streams consumer|classic|share|streams
group.coordinator.threads int 4 1..
group.share.assignment.interval.ms int 1000 0.. cluster-wide
group.share.assignor.offload.enable boolean true - cluster-wide internal
group.share.assignors list simple -
group.share.delivery.count.limit int 5 2..10
group.share.dlq.manager.class.name string org.apache.kafka.server.share.dlq.DefaultShareGroupDLQManager - internal
group.share.heartbeat.interval.ms int 5000 1..
group.share.initialize.retry.interval.ms int 30000 1.. internal
group.share.max.assignment.interval.ms int 15000 0..
group.share.max.delivery.count.limit int 10 5..25
group.share.max.heartbeat.interval.ms int 15000 1..
group.share.max.partition.max.record.locks int 4000 2000..10000
group.share.max.record.lock.duration.ms int 60000 30000..3600000
group.share.max.session.timeout.ms int 60000 1..
group.share.max.share.sessions int 2000 1..
group.share.max.size int 200 1..1000
group.share.min.assignment.interval.ms int 0 0..
group.share.min.delivery.count.limit int 2 2..5
group.share.min.heartbeat.interval.ms int 5000 1..
group.share.min.partition.max.record.locks int 100 100..2000
group.share.min.record.lock.duration.ms int 15000 1000..30000
group.share.min.session.timeout.ms int 45000 1..
group.share.partition.max.record.locks int 2000 100..10000
group.share.persister.class.name string org.apache.kafka.server.share.persister.DefaultStatePersister - internal
group.share.record.lock.duration.ms int 30000 1000..3600000
group.share.session.timeout.ms int 45000 1..
group.streams.acceptable.recovery.lag long 10000 0.. internal
group.streams.assignment.interval.ms int 1000 0.. cluster-wide
group.streams.assignor.offload.enable boolean true - cluster-wide internal
group.streams.assignors list sticky -
group.streams.heartbeat.interval.ms int 5000 1..
group.streams.initial.rebalance.delay.ms int 3000 0..
group.streams.max.assignment.interval.ms int 15000 0..
group.streams.max.heartbeat.interval.ms int 15000 1..
group.streams.max.session.timeout.ms int 60000 1..
group.streams.max.size int 2147483647 1..
group.streams.max.standby.replicas int 2 0..
group.streams.max.warmup.replicas int 20 0.. internal
group.streams.min.assignment.interval.ms int 0 0..
group.streams.min.heartbeat.interval.ms int 5000 1..
group.streams.min.session.timeout.ms int 45000 1..
group.streams.min.task.offset.interval.ms int 15000 1.. internal
group.streams.num.standby.replicas int 0 0..
group.streams.num.warmup.replicas int 2 0.. internal
group.streams.rack.aware.assignment.tags list '' -
group.streams.session.timeout.ms int 45000 1..
group.streams.task.offset.interval.ms int 60000 1.. internal
group.streams.topology.description.plugin.class class - -
initial.broker.registration.timeout.ms int 60000 -
internal.metadata.delete.delay.millis long 60000 - internal
internal.metadata.log.segment.bytes int - - internal
internal.metadata.max.batch.size.in.bytes int 8388608 - internal
kafka.metrics.polling.interval.secs int 10 1..
kafka.metrics.reporters list '' -
leader.replication.throttled.rate long 9223372036854775807 0.. cluster-wide internal
log.cleaner.io.buffer.load.factor double 0.9 - cluster-wide
log.cleaner.io.buffer.size int 524288 0.. cluster-wide
log.cleaner.io.max.bytes.per.second double 1.7976931348623157E308 - cluster-wide
log.cleaner.threads int 1 0.. cluster-wide
log.dir list /tmp/kafka-logs -
log.dir.failure.timeout.ms long 30000 1..
log.dirs list - -
log.flush.start.offset.checkpoint.interval.ms int 60000 0..
log.index.interval.bytes int 4096 0.. cluster-wide
log.index.size.max.bytes int 10485760 4.. cluster-wide
log.local.retention.bytes long -2 -2.. cluster-wide
log.local.retention.ms long -2 -2.. cluster-wide
log.preallocate boolean false - cluster-wide
log.remote.copy.lag.bytes long -1 -1.. cluster-wide
log.remote.copy.lag.ms long 0 -1.. cluster-wide
log.roll.jitter.hours int 0 0..
log.roll.jitter.ms long - - cluster-wide
log.segment.delete.delay.ms long 60000 0.. cluster-wide
max.connection.creation.rate int 2147483647 0.. cluster-wide
max.connections int 2147483647 0.. cluster-wide
max.connections.per.ip int 2147483647 0.. cluster-wide
max.connections.per.ip.overrides string '' - cluster-wide
metadata.log.dir string - -
metadata.log.max.record.bytes.between.snapshots long 20971520 1..
metadata.log.max.snapshot.interval.ms long 3600000 0..
metadata.log.segment.bytes int 1073741824 8388608..
metadata.log.segment.ms long 604800000 -
metadata.max.idle.interval.ms int 500 0..
metadata.max.retention.bytes long 104857600 -
metadata.max.retention.ms long 604800000 -
metric.reporters list org.apache.kafka.common.metrics.JmxReporter - cluster-wide
metrics.num.samples int 2 1..
metrics.recording.level string INFO -
metrics.sample.window.ms long 30000 1..
num.io.threads int 8 1.. cluster-wide
num.network.threads int 3 1.. cluster-wide
num.recovery.threads.per.data.dir int 2 1.. cluster-wide
num.replica.alter.log.dirs.threads int - -
num.replica.fetchers int 1 1.. cluster-wide
offsets.commit.timeout.ms int 5000 1..
offsets.load.buffer.size int 5242880 1..
offsets.topic.compression.codec int 0 -
principal.builder.class class org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder - per-broker
process.roles list - broker|controller
producer.purgatory.purge.interval.requests int 1000 -
queued.max.request.bytes long -1 -
queued.max.requests int 500 1..
quota.window.num int 11 1..
quota.window.size.seconds int 1 1..
remote.fetch.max.wait.ms int 500 1.. cluster-wide
remote.list.offsets.request.timeout.ms long 30000 1.. cluster-wide
remote.log.index.file.cache.total.size.bytes long 1073741824 1.. cluster-wide
remote.log.index.file.cache.ttl.ms long 900000 -1.. internal
remote.log.manager.copier.thread.pool.size int 10 1.. cluster-wide
remote.log.manager.copy.max.bytes.per.second long 9223372036854775807 1.. cluster-wide
remote.log.manager.copy.quota.window.num int 11 1..
remote.log.manager.copy.quota.window.size.seconds int 1 1..
remote.log.manager.expiration.thread.pool.size int 10 1.. cluster-wide
remote.log.manager.fetch.max.bytes.per.second long 9223372036854775807 1.. cluster-wide
remote.log.manager.fetch.quota.window.num int 11 1..
remote.log.manager.fetch.quota.window.size.seconds int 1 1..
remote.log.manager.follower.thread.pool.size int 2 1.. cluster-wide
remote.log.manager.task.interval.ms long 30000 1..
remote.log.manager.task.retry.backoff.max.ms long 30000 1.. internal
remote.log.manager.task.retry.backoff.ms long 500 1.. internal
remote.log.manager.task.retry.jitter double 0.2 0..0.5 internal
remote.log.manager.thread.pool.size int 2 1..
remote.log.metadata.custom.metadata.max.bytes int 128 0..
remote.log.metadata.manager.class.name string org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager -
remote.log.metadata.manager.class.path string - -
remote.log.metadata.manager.impl.prefix string rlmm.config. -
remote.log.metadata.manager.listener.name string - -
remote.log.reader.max.pending.tasks int 100 1..
remote.log.reader.threads int 10 1.. cluster-wide
remote.log.storage.manager.class.name string - -
remote.log.storage.manager.class.path string - -
remote.log.storage.manager.impl.prefix string rsm.config. -
remote.log.storage.system.enable boolean false -
replica.alter.log.dirs.io.max.bytes.per.second long 9223372036854775807 0.. cluster-wide internal
replica.fetch.backoff.ms int 1000 0..
replica.fetch.max.bytes int 1048576 0..
replica.fetch.min.bytes int 1 -
replica.fetch.response.max.bytes int 10485760 0..
replica.fetch.wait.max.ms int 500 -
replica.high.watermark.checkpoint.interval.ms long 5000 -
replica.lag.time.max.ms long 30000 -
replica.selector.class string - -
replica.socket.receive.buffer.bytes int 65536 -
replica.socket.timeout.ms int 30000 -
replication.quota.window.num int 11 1..
replication.quota.window.size.seconds int 1 1..
request.timeout.ms int 30000 -
sasl.client.callback.handler.class class - -
sasl.enabled.mechanisms list GSSAPI - per-broker
sasl.jaas.config password - - per-broker
sasl.kerberos.kinit.cmd string /usr/bin/kinit - per-broker
sasl.kerberos.min.time.before.relogin long 60000 - per-broker
sasl.kerberos.principal.to.local.rules list DEFAULT - per-broker
sasl.kerberos.service.name string - - per-broker
sasl.kerberos.ticket.renew.jitter double 0.05 - per-broker
sasl.kerberos.ticket.renew.window.factor double 0.8 - per-broker
sasl.login.callback.handler.class class - -
sasl.login.class class - -
sasl.login.connect.timeout.ms int - -
sasl.login.read.timeout.ms int - -
sasl.login.refresh.buffer.seconds short 300 - per-broker
sasl.login.refresh.min.period.seconds short 60 - per-broker
sasl.login.refresh.window.factor double 0.8 - per-broker
sasl.login.refresh.window.jitter double 0.05 - per-broker
sasl.login.retry.backoff.max.ms long 10000 -
sasl.login.retry.backoff.ms long 100 -
sasl.mechanism.controller.protocol string GSSAPI -
sasl.mechanism.inter.broker.protocol string GSSAPI - per-broker
sasl.oauthbearer.allow.unverified.audience boolean false -
sasl.oauthbearer.allow.unverified.issuer boolean false -
sasl.oauthbearer.assertion.algorithm string RS256 -
sasl.oauthbearer.assertion.claim.aud string - -
sasl.oauthbearer.assertion.claim.exp.seconds int 300 0..86400
sasl.oauthbearer.assertion.claim.iss string - -
sasl.oauthbearer.assertion.claim.jti.include boolean false -
sasl.oauthbearer.assertion.claim.nbf.seconds int 60 0..3600
sasl.oauthbearer.assertion.claim.sub string - -
sasl.oauthbearer.assertion.file string - -
sasl.oauthbearer.assertion.private.key.file string - -
sasl.oauthbearer.assertion.private.key.passphrase password - -
sasl.oauthbearer.assertion.template.file string - -
sasl.oauthbearer.client.credentials.client.id string - -
sasl.oauthbearer.client.credentials.client.secret password - -
sasl.oauthbearer.clock.skew.seconds int 30 -
sasl.oauthbearer.expected.audience list '' -
sasl.oauthbearer.expected.issuer string - -
sasl.oauthbearer.jwks.endpoint.refresh.ms long 3600000 -
sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms long 10000 -
sasl.oauthbearer.jwks.endpoint.retry.backoff.ms long 100 -
sasl.oauthbearer.jwks.endpoint.url string - -
sasl.oauthbearer.jwt.retriever.class class org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever -
sasl.oauthbearer.jwt.validator.class class org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator -
sasl.oauthbearer.scope string - -
sasl.oauthbearer.scope.claim.name string scope -
sasl.oauthbearer.sub.claim.name string sub -
sasl.oauthbearer.token.endpoint.url string - -
sasl.server.callback.handler.class class - -
sasl.server.max.receive.size int 524288 -
security.inter.broker.protocol string PLAINTEXT PLAINTEXT|SSL|SASL_PLAINTEXT|SASL_SSL
security.providers string - -
server.max.startup.time.ms long 9223372036854775807 0.. internal
share.coordinator.append.linger.ms int -1 -1..
share.coordinator.cached.buffer.max.bytes int 1048588 524288.. cluster-wide
share.coordinator.cold.partition.snapshot.interval.ms int 300000 1.. internal
share.coordinator.load.buffer.size int 5242880 1..
share.coordinator.snapshot.update.records.per.snapshot int 500 0..500
share.coordinator.state.topic.compression.codec int 0 -
share.coordinator.state.topic.min.isr short 2 1..
share.coordinator.state.topic.num.partitions int 50 1..
share.coordinator.state.topic.prune.interval.ms int 300000 1.. internal
share.coordinator.state.topic.replication.factor short 3 1..
share.coordinator.state.topic.segment.bytes int 104857600 1..
share.coordinator.threads int 1 1..
share.coordinator.write.timeout.ms int 5000 1..
share.fetch.purgatory.purge.interval.requests int 1000 -
socket.connection.setup.timeout.max.ms long 30000 -
socket.connection.setup.timeout.ms long 10000 -
socket.listen.backlog.size int 50 1..
socket.receive.buffer.bytes int 102400 -
socket.send.buffer.bytes int 102400 -
ssl.allow.dn.changes boolean false -
ssl.allow.san.changes boolean false -
ssl.cipher.suites list '' - per-broker
ssl.client.auth string none required|requested|none per-broker
ssl.enabled.protocols list TLSv1.2,TLSv1.3 - per-broker
ssl.endpoint.identification.algorithm string https - per-broker
ssl.engine.factory.class class - - per-broker
ssl.key.password password - - per-broker
ssl.keymanager.algorithm string SunX509 - per-broker
ssl.keystore.certificate.chain password - - per-broker
ssl.keystore.key password - - per-broker
ssl.keystore.location string - - per-broker
ssl.keystore.password password - - per-broker
ssl.keystore.type string JKS - per-broker
ssl.principal.mapping.rules string DEFAULT -
ssl.protocol string TLSv1.3 - per-broker
ssl.provider string - - per-broker
ssl.secure.random.implementation string - - per-broker
ssl.trustmanager.algorithm string PKIX - per-broker
ssl.truststore.certificates password - - per-broker
ssl.truststore.location string - - per-broker
ssl.truststore.password password - - per-broker
ssl.truststore.type string JKS - per-broker
telemetry.max.bytes int 1048576 1..
transaction.state.log.load.buffer.size int 5242880 1..
transaction.two.phase.commit.enable boolean false -
unclean.leader.election.interval.ms long 300000 1.. internal
unstable.api.versions.enable boolean false - internal
unstable.feature.versions.enable boolean false - internal
"""  # noqa: E501 (some of Kafka's names and defaults are that long)


def _setting(name: str, kind: str, default: str, limits: str, *words: str) -> Setting:
    update = next((word for word in words if word != "internal"), READ_ONLY)
    setting = Setting(name, kind, None, update=update, is_internal="internal" in words)
    least, dots, most = limits.partition("..")
    if dots:
        setting.at_least = _number(least)
        setting.at_most = _number(most) if most else None
    elif limits != "-":
        setting.choices = tuple(limits.split("|"))
    setting.default = _default(setting, default)
    return setting


def _number(text: str) -> int | float:
    return float(text) if "." in text else int(text)


def _default(setting: Setting, text: str) -> Any:
    return None if text == "-" else parse_value(setting, "" if text == "''" else text)


STORED_SETTINGS: Final = {
    setting.name: setting for setting in (_setting(*row.split()) for row in _ROWS.strip().splitlines())
}
