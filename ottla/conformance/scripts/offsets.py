"""OffsetCommit, OffsetFetch, OffsetDelete: with and without members, by name and by topic id."""

from __future__ import annotations

from typing import Any

from ottla.conformance.cast import Member, completing_group, preparing_group, stable_group, subscription
from ottla.conformance.scene import Scene
from ottla.conformance.script import every, script, some
from ottla.protocol.messages.offset_commit import OffsetCommitRequest
from ottla.protocol.messages.offset_delete import OffsetDeleteRequest
from ottla.protocol.messages.offset_fetch import OffsetFetchRequest
from ottla.protocol.primitives import ZERO_UUID


def _fetch(
    group: str,
    topics: dict[str, list[int]] | None,
    *,
    topic_ids: dict[str, bytes] | None = None,
    require_stable: bool = False,
) -> OffsetFetchRequest:
    """For any version: v1–7 read the one group, v8 and later the list. `topics` None asks for all."""
    one = None if topics is None else [
        OffsetFetchRequest.OffsetFetchRequestTopic(name=name, partition_indexes=partitions)
        for name, partitions in topics.items()
    ]  # fmt: skip
    listed = None if topics is None else [
        OffsetFetchRequest.OffsetFetchRequestTopics(
            name=name, topic_id=(topic_ids or {}).get(name, ZERO_UUID), partition_indexes=partitions
        )
        for name, partitions in topics.items()
    ]  # fmt: skip
    request = OffsetFetchRequest(
        group_id=group,
        groups=[OffsetFetchRequest.OffsetFetchRequestGroup(group_id=group)],
        require_stable=require_stable,
    )
    request.topics, request.groups[0].topics = one, listed
    return request


def simple_commit(
    group: str,
    topic: str,
    *offsets: int,
    topic_id: bytes = ZERO_UUID,
    metadata: str | None = "",
    leader_epoch: int = -1,
) -> OffsetCommitRequest:
    """A commit without a member, of partitions 0, 1, …"""
    return OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=-1,
        topics=[
            OffsetCommitRequest.OffsetCommitRequestTopic(
                name=topic,
                topic_id=topic_id,
                partitions=[
                    OffsetCommitRequest.OffsetCommitRequestPartition(
                        partition_index=index,
                        committed_offset=offset,
                        committed_metadata=metadata,
                        committed_leader_epoch=leader_epoch,
                    )
                    for index, offset in enumerate(offsets)
                ],
            )
        ],
    )


@script(versions=every("OffsetCommit"))
def commit_without_members(scene: Scene, version: int) -> None:
    """A simple group comes to be by its first commit; unknown partitions do not stop the others."""
    group, topic = scene.name("group"), scene.topic(partitions=2)
    topic_id = scene.topic_id(topic) if version >= 10 else ZERO_UUID
    admin = scene.actor("admin")
    admin.ask(simple_commit(group, topic, 10, 20, 30, topic_id=topic_id, metadata="note", leader_epoch=3))
    admin.ask(simple_commit(group, topic, -1, 2**62, topic_id=topic_id, metadata=None))
    admin.ask(simple_commit(group, scene.name("absent"), 1, topic_id=b"\1" * 16))
    admin.ask(_fetch(group, {topic: [0, 1, 2]}), 7)


@script(versions=every("OffsetCommit"))
def commit_of_topics_listed_twice_or_empty(scene: Scene, version: int) -> None:
    """A topic stands once in the answer as soon as anything is refused; one that is unknown even without partitions."""
    group, topic, absent = scene.name("group"), scene.topic(partitions=2), scene.name("absent")
    topic_ids = {topic: scene.topic_id(topic), absent: b"\7" * 16} if version >= 10 else {}
    admin = scene.actor("admin")

    def commit(*listed: tuple[str, list[int]]) -> None:
        request = simple_commit(group, topic)
        request.topics = [
            OffsetCommitRequest.OffsetCommitRequestTopic(
                name=name,
                topic_id=topic_ids.get(name, ZERO_UUID),
                partitions=[
                    OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=index, committed_offset=1)
                    for index in partitions
                ],
            )
            for name, partitions in listed
        ]
        admin.ask(request)

    commit((topic, [0]), (topic, [1]))
    commit((topic, [0]), (topic, [0, 1, 0]))
    commit((topic, [0, 9]), (absent, [0]), (topic, [1, 8]), (absent, [1]))
    commit((absent, [0]), (topic, [0]), (topic, [1]))
    commit((topic, [9]), (topic, [8]))
    commit((absent, []))
    commit((absent, []), (topic, [0]))
    commit((topic, []))
    commit((topic, []), (topic, [0]))
    commit((topic, []), (absent, [0]))


@script(versions=every("OffsetCommit"))
def commit_to_strange_groups(scene: Scene, version: int) -> None:
    """No group and a generation; the empty group id, which is accepted; nothing to commit."""
    topic = scene.topic()
    topic_id = scene.topic_id(topic) if version >= 10 else ZERO_UUID
    admin = scene.actor("admin")
    request = simple_commit(scene.name("group"), topic, 5, topic_id=topic_id)
    request.generation_id_or_member_epoch = 3
    admin.ask(request)
    request.member_id = "stranger"
    admin.ask(request)
    request.generation_id_or_member_epoch = -1
    admin.ask(request)
    admin.ask(simple_commit("", topic, 5, topic_id=topic_id))
    admin.ask(OffsetCommitRequest(group_id=scene.name("other"), generation_id_or_member_epoch=-1, topics=[]))
    admin.ask(simple_commit(scene.name("third"), topic, topic_id=topic_id))


@script(versions=every("OffsetCommit"), needs=("offset.metadata.max.bytes",))
def commit_with_long_metadata(scene: Scene, version: int) -> None:
    """offset.metadata.max.bytes is 64 here, and counts characters; only the partition concerned is refused."""
    group, topic = scene.name("group"), scene.topic(partitions=2)
    topic_id = scene.topic_id(topic) if version >= 10 else ZERO_UUID
    admin = scene.actor("admin")
    for metadata in ("x" * 64, "x" * 65, "ü" * 64, "ü" * 65, "😀" * 32, "😀" * 33):
        admin.ask(simple_commit(group, topic, 1, topic_id=topic_id, metadata=metadata))
    request = simple_commit(group, topic, 1, 2, topic_id=topic_id, metadata="x" * 65)
    request.topics[0].partitions[1].committed_metadata = "short"
    admin.ask(request)


@script(versions=every("OffsetCommit"))
def commit_as_a_member(scene: Scene, version: int) -> None:
    """In Stable: the member before the generation; nobody commits around a group that has members."""
    topic = scene.topic()
    topic_id = scene.topic_id(topic) if version >= 10 else ZERO_UUID
    ana = Member(scene, scene.name("group"))
    stable_group(scene, ana)

    def commit(**changes: Any) -> None:
        request = ana.commit(topic, 7, **changes)
        request.topics[0].topic_id = topic_id
        ana.actor.ask(request)

    commit()
    commit(generation_id_or_member_epoch=0)
    commit(generation_id_or_member_epoch=2)
    commit(generation_id_or_member_epoch=-1)
    commit(generation_id_or_member_epoch=-1, member_id="")
    commit(member_id="stranger")
    commit(member_id="")
    commit(member_id="stranger", generation_id_or_member_epoch=-1)
    if version >= 7:
        commit(group_instance_id="unknown")
        commit(group_instance_id="unknown", generation_id_or_member_epoch=-1, member_id="")


@script(versions=every("OffsetCommit"))
def commit_while_rebalancing(scene: Scene, version: int) -> None:
    """The old generation may commit while preparing; while completing nobody may."""
    topic = scene.topic()
    topic_id = scene.topic_id(topic) if version >= 10 else ZERO_UUID
    ana, bo = Member(scene, scene.name("group")), Member(scene, scene.name("group2"))
    preparing_group(scene, ana)
    completing_group(scene, bo)
    for member in (ana, bo):
        for changes in (
            {},
            {"generation_id_or_member_epoch": 9},
            {"generation_id_or_member_epoch": -1, "member_id": ""},
        ):
            request = member.commit(topic, 7, **changes)
            request.topics[0].topic_id = topic_id
            member.actor.ask(request)


@script(versions=every("OffsetCommit"))
def commit_to_an_emptied_group(scene: Scene, version: int) -> None:
    """A former member's commit is refused; one without member and generation is taken."""
    topic = scene.topic()
    topic_id = scene.topic_id(topic) if version >= 10 else ZERO_UUID
    ana = Member(scene, scene.name("group"))
    stable_group(scene, ana)
    ana.actor.quietly(ana.leave(), 3)
    for changes in (
        {},
        {"member_id": ""},
        {"generation_id_or_member_epoch": -1},
        {"generation_id_or_member_epoch": -1, "member_id": ""},
    ):
        request = ana.commit(topic, 7, **changes)
        request.topics[0].topic_id = topic_id
        ana.actor.ask(request)


@script(versions=every("OffsetFetch"))
def fetch_offsets(scene: Scene, version: int) -> None:
    """What was committed, what was not, and a partition that does not exist; then all topics."""
    group, topic, other = scene.name("group"), scene.topic(partitions=2), scene.topic("other")
    admin = scene.actor("admin")
    admin.quietly(simple_commit(group, topic, 10, metadata="note", leader_epoch=2), 8)
    admin.quietly(simple_commit(group, other, 5, metadata=None), 8)
    ids = {topic: scene.topic_id(topic), other: scene.topic_id(other)} if version >= 10 else {}
    admin.ask(_fetch(group, {topic: [0, 1, 9], other: [0]}, topic_ids=ids))
    admin.ask(_fetch(group, {topic: [0]}, topic_ids=ids, require_stable=True))
    admin.ask(_fetch(group, {topic: []}, topic_ids=ids))
    admin.ask(_fetch(group, {}))
    absent = scene.name("absent")
    admin.ask(_fetch(group, {absent: [0], topic: [0]}, topic_ids={absent: b"\7" * 16, **ids}))
    if version >= 10:
        admin.ask(_fetch(group, {topic: [0]}))


@script(versions=every("OffsetFetch")[1:])
def fetch_all_offsets(scene: Scene, version: int) -> None:
    """A null list asks for every topic the group has offsets of; a group that isn't has none."""
    group, topic = scene.name("group"), scene.topic()
    admin = scene.actor("admin")
    admin.quietly(simple_commit(group, topic, 10, metadata="note", leader_epoch=2), 8)
    admin.ask(_fetch(group, None))
    admin.ask(_fetch(group, None, require_stable=True))
    admin.ask(_fetch(scene.name("absent"), None))


@script(versions=every("OffsetFetch"))
def fetch_offsets_of_strange_groups(scene: Scene, version: int) -> None:
    """An absent group answers like one without offsets; so does the empty id."""
    topic = scene.topic(partitions=2)
    ids = {topic: scene.topic_id(topic)} if version >= 10 else {}
    admin = scene.actor("admin")
    admin.ask(_fetch(scene.name("absent"), {topic: [0, 1]}, topic_ids=ids))
    admin.ask(_fetch("", {topic: [0]}, topic_ids=ids))


@script(versions=(8, 9, 10))
def fetch_offsets_of_several_groups(scene: Scene, version: int) -> None:
    """Several groups at once, one of them twice, one absent; and none."""
    topic = scene.topic()
    ids = {topic: scene.topic_id(topic)} if version >= 10 else {}
    admin = scene.actor("admin")
    groups = [scene.name("first"), scene.name("second"), scene.name("absent")]
    for offset, group in enumerate(groups[:2], start=10):
        admin.quietly(simple_commit(group, topic, offset), 8)
    request = OffsetFetchRequest(
        groups=[_fetch(group, {topic: [0]}, topic_ids=ids).groups[0] for group in [*groups, groups[0]]]
    )
    admin.ask(request)
    admin.ask(OffsetFetchRequest(groups=[]))
    request.groups[0].member_id, request.groups[0].member_epoch = "stranger", 3
    admin.ask(request)


def delete_offsets_request(group: str, topics: dict[str, list[int]]) -> OffsetDeleteRequest:
    partition = OffsetDeleteRequest.OffsetDeleteRequestPartition
    return OffsetDeleteRequest(
        group_id=group,
        topics=[
            OffsetDeleteRequest.OffsetDeleteRequestTopic(
                name=name, partitions=[partition(partition_index=index) for index in indexes]
            )
            for name, indexes in topics.items()
        ],
    )


@script()
def delete_offsets(scene: Scene, version: int) -> None:
    """Of a simple group; of absent ones; of a topic that a consumer of the group is subscribed to."""
    topic, other = scene.topic(partitions=2), scene.topic("other")
    group = scene.name("group")
    admin = scene.actor("admin")
    admin.quietly(simple_commit(group, topic, 10, 20), 8)

    def delete(group: str, topics: dict[str, list[int]]) -> None:
        admin.ask(delete_offsets_request(group, topics))

    delete(group, {topic: [0, 5], scene.name("absent"): [0]})
    admin.ask(_fetch(group, {topic: [0, 1]}), 5)
    delete(group, {topic: [0]})
    delete(scene.name("nobody"), {topic: [0]})
    delete("", {topic: [0]})
    delete(group, {})
    ana = Member(scene, scene.name("members"), protocols=[("range", subscription(topic))])
    stable_group(scene, ana)
    ana.actor.quietly(ana.commit(topic, 4), 8)
    ana.actor.quietly(ana.commit(other, 4), 8)
    delete(ana.group, {topic: [0], other: [0]})
    bo = Member(scene, scene.name("connectors"), protocol_type="connect")
    stable_group(scene, bo)
    delete(bo.group, {topic: [0]})


@script()
def delete_offsets_of_topics_listed_twice_or_empty(scene: Scene, version: int) -> None:
    """A topic stands once in the answer as soon as anything is refused; one that is unknown even without partitions."""
    group, topic, absent = scene.name("group"), scene.topic(partitions=2), scene.name("absent")
    admin = scene.actor("admin")
    admin.quietly(simple_commit(group, topic, 10, 20), 8)

    def delete(*listed: tuple[str, list[int]]) -> None:
        request = delete_offsets_request(group, {})
        for name, indexes in listed:
            request.topics += delete_offsets_request(group, {name: indexes}).topics
        admin.ask(request)

    delete((topic, [0]), (topic, [1]))
    delete((topic, [0, 9]), (absent, [0]), (topic, [1, 8]), (absent, [1]))
    delete((absent, [0]), (topic, [0]), (topic, [1]))
    delete((topic, [9]), (topic, [8]))
    delete((topic, [0, 0]))
    delete((absent, []))
    delete((absent, []), (topic, [0]))
    delete((topic, []))


@script(versions=some("OffsetFetch"))
def offsets_vanish_with_their_topic(scene: Scene, version: int) -> None:
    """A deleted topic takes the offsets committed for it along."""
    group, topic = scene.name("group"), scene.topic()
    ids = {topic: scene.topic_id(topic)}
    admin = scene.actor("admin")
    admin.quietly(simple_commit(group, topic, 10), 8)
    scene.delete_topic(topic)
    scene.until(
        lambda: scene.stagehand.ask(_fetch(group, {topic: [0]}), 7).topics[0].partitions[0].committed_offset == -1,
        what="the offset is gone",
    )
    admin.ask(_fetch(group, {topic: [0]}, topic_ids=ids))
    if version >= 2:
        admin.ask(_fetch(group, None))
