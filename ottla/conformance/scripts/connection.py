"""Frames, headers, versions: what is answered, and what closes the connection."""

from __future__ import annotations

import struct

from ottla.conformance.client import API
from ottla.conformance.scene import Scene
from ottla.conformance.script import Exempt, every, script
from ottla.protocol.messages.api_versions import ApiVersionsRequest
from ottla.protocol.messages.describe_cluster import DescribeClusterRequest
from ottla.protocol.messages.fetch import FetchRequest
from ottla.protocol.messages.heartbeat import HeartbeatRequest
from ottla.protocol.messages.metadata import MetadataRequest
from ottla.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from ottla.protocol.messages.sasl_handshake import SaslHandshakeRequest
from ottla.protocol.registry import all_apis

#: The APIs that both brokers must serve in the same versions.
SERVED = (
    "Produce", "Fetch", "ListOffsets", "Metadata", "OffsetCommit", "OffsetFetch", "FindCoordinator", "JoinGroup",
    "Heartbeat", "LeaveGroup", "SyncGroup", "DescribeGroups", "ListGroups", "ApiVersions", "CreateTopics",
    "DeleteTopics", "DeleteRecords", "InitProducerId", "OffsetForLeaderEpoch", "DescribeConfigs", "AlterConfigs",
    "DescribeLogDirs",
    "CreatePartitions", "DeleteGroups", "IncrementalAlterConfigs", "OffsetDelete", "DescribeCluster",
    "DescribeProducers", "DescribeTopicPartitions",
)  # fmt: skip
SUBSET = (
    Exempt("api_keys", "Ottla advertises what it serves; `served_versions` compares those"),
    Exempt("supported_features", "Ottla has features only where it serves them; `served_features` compares those"),
    Exempt("finalized_features", "Ottla has features only where it serves them; `served_features` compares those"),
)
NO_SASL = "Ottla does not serve SASL, nor advertise it: the connection is closed, as for any unknown key"


def _frame(*parts: bytes) -> bytes:
    body = b"".join(parts)
    return struct.pack(">i", len(body)) + body


def _header(key: int, version: int, client_id: bytes = b"\0\x03ana") -> bytes:
    return struct.pack(">hhi", key, version, 7) + client_id


@script(versions=every("ApiVersions"), exempt=SUBSET)
def api_versions(scene: Scene, version: int) -> None:
    """The first request of nearly every client; twice on one connection is fine."""
    ana = scene.actor()
    ana.ask(ApiVersionsRequest(client_software_name="tests", client_software_version="1.0"))
    ana.ask(ApiVersionsRequest(client_software_name="tests", client_software_version="1.0"))


@script(versions=every("ApiVersions"))
def served_versions(scene: Scene, version: int) -> None:
    """For each API that both serve, the same range of versions."""
    scene.needs(*SERVED)
    numbers = {API[name].key for name in SERVED}
    scene.actor().ask_and_keep(
        ApiVersionsRequest(client_software_name="tests", client_software_version="1.0"),
        lambda answer: [row for row in answer.api_keys if row.api_key in numbers],
    )


@script(versions=(3, 4, 5))
def served_features(scene: Scene, version: int) -> None:
    """For the feature that both have, the levels that are known and the one that counts."""
    scene.actor().ask_and_keep(
        ApiVersionsRequest(client_software_name="tests", client_software_version="1.0"),
        lambda answer: [
            feature
            for feature in (*answer.supported_features, *answer.finalized_features)
            if feature.name == "metadata.version"
        ],
    )


@script(versions=(3, 4, 5), exempt=SUBSET)
def api_versions_with_a_bad_software_name(scene: Scene, version: int) -> None:
    """A name or version that Kafka's pattern does not match: INVALID_REQUEST; the connection stays."""
    ana = scene.actor()
    for name, number in (
        ("a b", "1"),
        ("", "1"),
        ("a", ""),
        ("-a", "1"),
        ("a", "1."),
        ("ä", "1"),
        ("a", "1"),
        ("a.b-c", "1-2.3"),
    ):
        ana.ask(ApiVersionsRequest(client_software_name=name, client_software_version=number))


@script(versions=(5,), needs=("node.id",))
def api_versions_for_another_broker(scene: Scene, version: int) -> None:
    """Both ids or neither, else INVALID_REQUEST, as for a bad name; one of another broker: REBOOTSTRAP_REQUIRED."""
    ana = scene.actor()
    cluster = ana.quietly(DescribeClusterRequest(), 0).cluster_id
    scene.labels.names[cluster] = "<own cluster>"
    for cluster_id, node_id, name in (
        (None, -1, "tests"),
        (cluster, -1, "tests"),
        ("", -1, "tests"),
        (None, 1, "tests"),
        (None, 7, "tests"),
        (None, -2, "tests"),
        (cluster, 1, "tests"),
        (cluster, 7, "tests"),
        (cluster, -2, "tests"),
        ("other", 1, "tests"),
        ("other", 7, "tests"),
        ("", 1, "tests"),
        ("other", 7, "bad name"),
        ("other", -1, "bad name"),
    ):
        ana.ask_and_keep(
            ApiVersionsRequest(name, client_software_version="1.0", cluster_id=cluster_id, node_id=node_id),
            lambda answer: [answer] if answer.error_code else [],
        )


@script()
def api_versions_of_the_future(scene: Scene, version: int) -> None:
    """Answered in version 0 with UNSUPPORTED_VERSION and the range of ApiVersions itself; the body is not looked at."""
    ana = scene.actor()
    for future in (6, 7, 99, 32767, -1):
        for body in (b"", b"\xff" * 40):
            ana.send_body(API["ApiVersions"], future, body, answered_as=0)
            ana.hear()


@script()
def unknown_keys_and_versions(scene: Scene, version: int) -> None:
    """Whatever is not served closes the connection, without a byte."""
    scene.needs(*SERVED)
    cases = [(99, 0), (-1, 0), (4, 0), (5, 0), (6, 0), (7, 0), (52, 0), (32767, 0)]
    cases += [
        (API[name].key, API[name].version_last + 1) for name in SERVED if name not in ("ApiVersions", "InitProducerId")
    ]
    cases += [(API[name].key, -1) for name in SERVED if name != "ApiVersions"]
    cases += [(0, 0), (0, 1), (0, 2), (1, 3), (2, 0), (8, 1), (9, 0), (19, 1), (20, 0), (23, 1), (32, 0)]
    for key, number in cases:
        actor = scene.actor(f"key {key} v{number}")
        actor.send_bytes(_frame(_header(key, number), bytes(64)))
        actor.hear_the_end()


@script()
def frames_of_impossible_size(scene: Scene, version: int) -> None:
    """Negative, zero, beyond the limit: closed."""
    for size in (-1, -(2**31), 0, 1, 7, 104_857_601, 2**31 - 1):
        actor = scene.actor(f"size {size}")
        actor.send_bytes(struct.pack(">i", size) + bytes(max(0, min(size, 64))))
        actor.hear_the_end()


@script()
def header_without_a_body(scene: Scene, version: int) -> None:
    """A header that ends early, or whose client id claims more than there is: closed."""
    for name, data in (
        ("half a header", b"\0\x12\0\0\0"),
        ("no client id", struct.pack(">hhi", 18, 0, 7)),
        ("a long client id", struct.pack(">hhih", 18, 0, 7, 500)),
        ("a null body", _header(3, 1)),
        ("no tags", _header(3, 12)),
    ):
        actor = scene.actor(name)
        actor.send_bytes(_frame(data))
        actor.hear_the_end()


@script()
def null_client_id(scene: Scene, version: int) -> None:
    """A client without a name is served."""
    ana = scene.actor()
    ana.send_bytes(_frame(_header(18, 0, b"\xff\xff")))
    ana.expect(API["ApiVersions"], 0, correlation_id=7)
    ana.hear_and_keep(lambda answer: [row for row in answer.api_keys if row.api_key == 18])


@script()
def bytes_after_the_body(scene: Scene, version: int) -> None:
    """What is left over in a frame is ignored."""
    ana = scene.actor()
    ana.send_body(API["Heartbeat"], 0, HeartbeatRequest(group_id="nobody").encode(0) + b"stray")
    ana.hear()
    ana.send_body(API["Heartbeat"], 4, HeartbeatRequest(group_id="nobody").encode(4) + b"stray")
    ana.hear()


@script()
def bodies_cut_short(scene: Scene, version: int) -> None:
    """Every API with one byte of a body, and with a body of 0xff: closed, or answered where that can be read."""
    for api in all_apis():
        if api.name not in SERVED or api.name == "ApiVersions":
            continue
        for body in (b"", b"\xff" * 9):
            if not body and api.name in ("ListGroups", "DescribeCluster"):
                continue
            actor = scene.actor(f"{len(body)} bytes")
            actor.send_body(api, api.version_last, body)
            actor.hear_the_end()


@script(versions=every("SaslHandshake"), differs=NO_SASL)
def sasl_handshake_without_sasl(scene: Scene, version: int) -> None:
    """On a plaintext listener: ILLEGAL_SASL_STATE, and the connection stays."""
    ana = scene.actor()
    ana.ask(SaslHandshakeRequest(mechanism="PLAIN"))
    ana.ask(HeartbeatRequest(group_id=scene.name("g"), member_id="nobody"), 0)


@script(versions=every("SaslAuthenticate"), differs=NO_SASL)
def sasl_authenticate_without_sasl(scene: Scene, version: int) -> None:
    """On a plaintext listener: ILLEGAL_SASL_STATE, and the connection stays."""
    ana = scene.actor()
    ana.ask(SaslAuthenticateRequest(auth_bytes=b"\0a\0b"))
    ana.ask(HeartbeatRequest(group_id=scene.name("g"), member_id="nobody"), 0)


@script()
def answers_keep_the_order_of_requests(scene: Scene, version: int) -> None:
    """A Fetch that waits holds back what was asked after it."""
    topic = scene.topic()
    ana = scene.actor()
    ana.send(
        FetchRequest(
            max_wait_ms=600,
            min_bytes=1,
            max_bytes=1000,
            topics=[
                FetchRequest.FetchTopic(
                    topic=topic, partitions=[FetchRequest.FetchPartition(partition=0, partition_max_bytes=1000)]
                )
            ],
        ),
        11,
    )
    ana.send(HeartbeatRequest(group_id=scene.name("g"), member_id="nobody"), 0)
    ana.send(MetadataRequest(topics=[]), 1)
    ana.hear_nothing()
    for _ in range(3):
        ana.hear()


@script(versions=(9,))
def tags_nobody_knows(scene: Scene, version: int) -> None:
    """Unknown tagged fields in the header, the body, and a struct are skipped."""
    scene.needs_version("Metadata", 9)
    ana = scene.actor()
    header = struct.pack(">hhi", 3, 9, 7) + b"\0\x03ana" + b"\x02\x05\x03abc\x63\x00"
    topic = b"\x08nowhere" + b"\x01\x09\x02hi"
    ana.send_bytes(_frame(header, b"\x02", topic, b"\0\0\0", b"\x01\x20\x01x"))
    ana.expect(API["Metadata"], 9, correlation_id=7)
    ana.hear()
