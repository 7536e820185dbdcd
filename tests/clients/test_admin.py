"""What administrators ask of a broker, through each library's own admin client."""

from __future__ import annotations

import pytest

from ottla.protocol.errors import ErrorCode
from tests.clients.client_process import ClientProcess, refused
from tests.clients.conftest import MakeTopic, unique_name
from tests.clients.libraries import LIBRARIES, name_of, who_can
from tests.support.backstage import Backstage


@pytest.mark.parametrize("library", LIBRARIES, ids=name_of)
def test_life_of_a_topic(client: ClientProcess, backstage: Backstage) -> None:
    """Created, listed, made larger, deleted; what can't be is refused with Kafka's reason."""
    topic = unique_name("admin")
    client.create_topic(topic=topic, partitions=2)
    backstage.until(lambda: client.topics().get(topic) == 2, "the topic is listed")
    with refused(ErrorCode.TOPIC_ALREADY_EXISTS):
        client.create_topic(topic=topic)
    with refused(ErrorCode.INVALID_TOPIC_EXCEPTION):
        client.create_topic(topic="not/a/name")
    with refused(ErrorCode.INVALID_CONFIG):
        client.create_topic(topic=unique_name("admin"), configs={"retention.ms": "soon"})
    client.add_partitions(topic=topic, total=4)
    backstage.until(lambda: client.topics().get(topic) == 4, "the new partitions are listed")
    with refused(ErrorCode.INVALID_PARTITIONS):
        client.add_partitions(topic=topic, total=3)
    client.delete_topic(topic=topic)
    backstage.until(lambda: topic not in client.topics(), "the topic is gone")
    with refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
        client.delete_topic(topic=topic)


@pytest.mark.parametrize("library", LIBRARIES, ids=name_of)
def test_configs_of_a_topic(client: ClientProcess, backstage: Backstage) -> None:
    """Given at creation, and read back beside the defaults."""
    topic = unique_name("admin")
    client.create_topic(topic=topic, configs={"retention.ms": "86400000", "cleanup.policy": "compact"})
    backstage.until(lambda: topic in client.topics(), "the topic is listed")
    configs = client.topic_configs(topic=topic)
    assert (configs["retention.ms"], configs["cleanup.policy"]) == ("86400000", "compact")
    assert configs["max.message.bytes"] == "1048588"


@pytest.mark.parametrize("library", who_can("replace_topic_configs"), ids=name_of)
def test_configs_of_a_topic_are_replaced(client: ClientProcess, backstage: Backstage, make_topic: MakeTopic) -> None:
    """As a whole: what is not named goes back to its default. The new ones count at once."""
    topic = make_topic(**{"retention.ms": "86400000", "cleanup.policy": "compact"})
    client.replace_topic_configs(topic=topic, configs={"max.message.bytes": "2000"})

    def shown() -> tuple[str, str, str]:
        configs = client.topic_configs(topic=topic)
        return configs["retention.ms"], configs["cleanup.policy"], configs["max.message.bytes"]

    backstage.until(lambda: shown() == ("604800000", "delete", "2000"), "the new configs are shown")
    with refused(ErrorCode.MESSAGE_TOO_LARGE):
        client.send(topic, b"x" * 3_000)


@pytest.mark.parametrize("library", who_can("change_topic_config"), ids=name_of)
def test_single_changes_of_configs(client: ClientProcess, backstage: Backstage, make_topic: MakeTopic) -> None:
    """Incrementally: one is set, a list gets one more and loses one, one is deleted; all others stay."""
    topic = make_topic(**{"retention.ms": "86400000"})

    def becomes(name: str, value: str) -> None:
        backstage.until(lambda: client.topic_configs(topic=topic)[name] == value, f"{name} is {value}")

    client.change_topic_config(topic=topic, name="max.message.bytes", operation="set", value="2000")
    becomes("max.message.bytes", "2000")
    client.change_topic_config(topic=topic, name="cleanup.policy", operation="append", value="compact")
    becomes("cleanup.policy", "delete,compact")
    client.change_topic_config(topic=topic, name="cleanup.policy", operation="subtract", value="delete")
    becomes("cleanup.policy", "compact")
    client.change_topic_config(topic=topic, name="max.message.bytes", operation="delete")
    becomes("max.message.bytes", "1048588")
    becomes("retention.ms", "86400000")


@pytest.mark.parametrize("library", LIBRARIES, ids=name_of)
def test_nodes_of_the_cluster_and_their_configs(client: ClientProcess, bootstrap: str) -> None:
    """The cluster names its nodes and where to reach them; a node tells its settings."""
    host, port = bootstrap.rsplit(":", 1)
    nodes = client.cluster()["nodes"]
    assert [address for _, *address in nodes] == [[host, int(port)]]
    ((node_id, *_),) = nodes
    configs = client.broker_configs(node_id=node_id)
    assert configs["auto.create.topics.enable"] == "true"
    assert int(configs["group.max.session.timeout.ms"]) == 1_800_000


@pytest.mark.parametrize("library", LIBRARIES, ids=name_of)
def test_group_is_listed_and_described(
    client: ClientProcess, backstage: Backstage, make_topic: MakeTopic, group: str
) -> None:
    """While it has a member, who that is and what it holds; then it is Empty."""
    topic = make_topic(partitions=2)
    client.subscribe(group=group, topics=[topic])
    client.until(lambda: len(client.holds) == 2, "both partitions are held")
    assert group in client.groups()
    described = client.group(group=group)
    assert (described["state"], described["protocol"]) == ("Stable", "range")
    (member,) = described["members"]
    assert member["client_id"] == client.client_id
    assert member["host"].lstrip("/")
    assert member["partitions"] == [[topic, 0], [topic, 1]]
    client.commit(offsets=[[topic, 0, 1, ""]])
    client.close()
    backstage.wait_for_group(group, "Empty")
    described = client.group(group=group)
    assert (described["state"], described["members"]) == ("Empty", [])


@pytest.mark.parametrize("library", who_can("delete_group"), ids=name_of)
def test_group_is_deleted(client: ClientProcess, backstage: Backstage, make_topic: MakeTopic, group: str) -> None:
    """Not while it has members. Then its offsets go with it, and it can't be deleted twice."""
    topic = make_topic()
    client.subscribe(group=group, topics=[topic])
    client.until(lambda: bool(client.holds), "the partition is held")
    client.commit(offsets=[[topic, 0, 1, ""]])
    with refused(ErrorCode.NON_EMPTY_GROUP):
        client.delete_group(group=group)
    client.close()
    backstage.wait_for_group(group, "Empty")
    assert client.group_offsets(group=group) == [[topic, 0, 1, ""]]
    client.delete_group(group=group)
    assert group not in client.groups()
    assert client.group_offsets(group=group) == []
    with refused(ErrorCode.GROUP_ID_NOT_FOUND):
        client.delete_group(group=group)


@pytest.mark.parametrize("library", who_can("set_group_offset"), ids=name_of)
def test_offsets_of_a_group_are_set_from_outside(
    client: ClientProcess, backstage: Backstage, make_topic: MakeTopic, group: str
) -> None:
    """While nobody is in the group; a consumer then begins there. With a member in it that is refused."""
    topic = make_topic()
    client.send(topic, b"0", b"1", b"2", b"3")
    backstage.wait_for_coordinator(group)
    client.set_group_offset(group=group, topic=topic, partition=0, offset=2)
    assert client.group_offsets(group=group) == [[topic, 0, 2, ""]]
    client.subscribe(group=group, topics=[topic])
    client.until(lambda: client.values == [b"2", b"3"], "it begins at offset 2")
    with refused(ErrorCode.UNKNOWN_MEMBER_ID):
        client.set_group_offset(group=group, topic=topic, partition=0, offset=0)


@pytest.mark.parametrize("library", who_can("delete_group_offset"), ids=name_of)
def test_offsets_of_a_group_are_deleted(
    client: ClientProcess, backstage: Backstage, make_topic: MakeTopic, group: str
) -> None:
    """One partition's, and only of a topic that nobody in the group is subscribed to."""
    subscribed, left = make_topic(), make_topic(partitions=2)
    client.subscribe(group=group, topics=[subscribed])
    client.until(lambda: bool(client.holds), "the partition is held")
    client.commit(offsets=[[subscribed, 0, 1, ""], [left, 0, 1, ""], [left, 1, 1, ""]])
    client.delete_group_offset(group=group, topic=left, partition=1)
    with refused(ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC):
        client.delete_group_offset(group=group, topic=subscribed, partition=0)
    assert client.group_offsets(group=group) == sorted([[subscribed, 0, 1, ""], [left, 0, 1, ""]])


@pytest.mark.parametrize("library", who_can("delete_records"), ids=name_of)
def test_records_are_deleted(client: ClientProcess, make_topic: MakeTopic) -> None:
    """All before an offset; one beyond the end is refused."""
    topic = make_topic()
    client.send(topic, b"0", b"1", b"2")
    assert client.delete_records(topic=topic, partition=0, before=2) == 2
    with refused(ErrorCode.OFFSET_OUT_OF_RANGE):
        client.delete_records(topic=topic, partition=0, before=4)
    client.assign((topic, 0))
    client.until(lambda: client.values == [b"2"], "the last one is read")


@pytest.mark.parametrize("library", who_can("log_sizes"), ids=name_of)
def test_sizes_of_logs(client: ClientProcess, make_topic: MakeTopic) -> None:
    """DescribeLogDirs tells how many bytes a partition takes."""
    topic = make_topic()
    client.send(topic, b"x" * 5_000)
    assert 5_000 < client.log_sizes(topic=topic)["0"] < 5_200
