"""Posing as an older Kafka: what it claims, what it refuses, and the table it goes by."""

from __future__ import annotations

from pathlib import Path

import pytest

from ottla.broker.network.apis import SERVED
from ottla.control.faults.kafka_releases import RELEASES
from ottla.control.faults.misuse import BadFault
from ottla.control.faults.posing import versions_of
from ottla.control.faults.read_releases import page, release_of
from ottla.protocol.errors import ErrorCode
from ottla.protocol.generate.modules import KAFKA_VERSION
from ottla.protocol.messages.api_versions import ApiVersionsRequest
from tests.control.faults.scene import fault, metadata_request
from tests.support.client import Client, api_of
from tests.support.running_broker import RunningBroker


def test_newest_release_is_what_is_served() -> None:
    """The table comes from Kafka's schemas, and so do the APIs here, each by a way of its own."""
    assert versions_of(KAFKA_VERSION) == {
        key: (served.version_first, served.version_last) for key, served in SERVED.items()
    }


@pytest.mark.parametrize("release", RELEASES)
def test_every_release_has_what_every_client_needs(release: str) -> None:
    """Produce, Fetch, Metadata, ApiVersions and groups; and nothing newer than Kafka 4.4."""
    versions = versions_of(release)
    assert {0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 18} <= versions.keys()
    for key, (first, last) in versions.items():
        assert SERVED[key].version_first <= first <= last <= SERVED[key].version_last


def test_releases_differ_as_they_did() -> None:
    """A few that are known: JoinGroup v8 came with 3.2, Fetch v13 with 3.1, ApiVersions v4 with 3.9."""
    assert [versions_of(release)[11][1] for release in ("3.1", "3.2")] == [7, 9]
    assert [versions_of(release)[1][1] for release in ("3.0", "3.1.2")] == [12, 13]
    assert [versions_of(release)[18][1] for release in ("3.8", "3.9")] == [3, 4]


def test_release_that_is_not_known_is_refused() -> None:
    with pytest.raises(BadFault, match=r"no Kafka '2\.7' is known here; there are 2\.8, 3\.0"):
        versions_of("2.7")


def test_table_is_printed_from_jars(tmp_path: Path) -> None:
    """By their names, and only requests that brokers serve, without what is unstable."""
    from zipfile import ZipFile

    jar = tmp_path / "kafka-clients-9.1.0.jar"
    schemas = {
        "FetchRequest": '// a comment\n{"apiKey": 1, "listeners": ["broker"], "validVersions": "4-18",\n'
        '"latestVersionUnstable": true}',
        "VoteRequest": '{"apiKey": 52, "listeners": ["controller"], "validVersions": "0-2"}',
        "GoneRequest": '{"apiKey": 4, "validVersions": "none"}',
        "FetchResponse": '{"apiKey": 1, "validVersions": "4-18"}',
    }
    with ZipFile(jar, "w") as archive:
        for name, schema in schemas.items():
            archive.writestr(f"common/message/{name}.json", schema)
    assert release_of(jar) == (9, 1)
    assert page([jar]).endswith('    "9.1": (\n        "1:4-17"\n    ),\n}\n')


def test_versions_are_claimed_and_kept_to(broker: RunningBroker, client: Client) -> None:
    """ApiVersions of a version that was not there yet is answered so that the client can ask again; anything else
    ends the connection, as it does at a Kafka of that age.
    """
    fault(broker, client_id="ana", pose_as="2.8")
    request = ApiVersionsRequest("ana", "1.0")
    client.send_body(api_of(request), 4, request.encode(4), answered_as=0)
    refused = client.receive().message
    assert refused.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert [(listed.api_key, listed.min_version, listed.max_version) for listed in refused.api_keys] == [(18, 0, 3)]
    answer = client.ask(request, 3)
    claimed = {listed.api_key: (listed.min_version, listed.max_version) for listed in answer.api_keys}
    assert claimed == versions_of("2.8")
    assert answer.supported_features == []
    assert len(client.ask(metadata_request("orders"), 11).topics) == 1
    client.send(metadata_request("orders"), 12)
    assert client.connection.receive_rest() == (b"", False)


def test_others_see_the_broker_as_it_is(broker: RunningBroker) -> None:
    fault(broker, client_id="ana", pose_as="2.8")
    with Client(broker.bootstrap, client_id="bo") as bo:
        answer = bo.ask(ApiVersionsRequest("bo", "1.0"), 4)
    assert {listed.api_key for listed in answer.api_keys} == SERVED.keys()
