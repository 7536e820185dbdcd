"""Kafka's error codes: number, name, whether a client may simply try again, and a sentence for people.

The numbers are part of the protocol, the names are Kafka's, the sentences are ours.
Kafka: clients/.../common/protocol/Errors.java; an error is retriable where its exception is a RetriableException.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, Self


class ErrorCode(IntEnum):
    """An error as it travels: an int16, with `retriable` and `meaning` beside it."""

    retriable: bool
    meaning: str

    def __new__(cls, number: int, retriable: bool = False, meaning: str = "") -> Self:  # ErrorCode(3) looks one up
        code = int.__new__(cls, number)
        code._value_ = number
        code.retriable = retriable
        code.meaning = meaning
        return code

    UNKNOWN_SERVER_ERROR = -1, False, "The broker failed in a way it has no name for; its log says more."
    NONE = 0, False, "Success."
    OFFSET_OUT_OF_RANGE = 1, False, "The offset lies before the log's start or after its end."
    CORRUPT_MESSAGE = 2, True, "A record batch fails its checksum or its layout is broken."
    UNKNOWN_TOPIC_OR_PARTITION = 3, True, "No such topic or partition here."
    INVALID_FETCH_SIZE = 4, False, "The number of bytes asked for cannot be served."
    LEADER_NOT_AVAILABLE = 5, True, "The partition has no leader at the moment."
    NOT_LEADER_OR_FOLLOWER = 6, True, "Another node leads this partition."
    REQUEST_TIMED_OUT = 7, True, "The time given in the request ran out first."
    BROKER_NOT_AVAILABLE = 8, False, "The broker is away."
    REPLICA_NOT_AVAILABLE = 9, True, "A replica of the partition is away."
    MESSAGE_TOO_LARGE = 10, False, "The batch is larger than max.message.bytes."
    STALE_CONTROLLER_EPOCH = 11, False, "The controller has moved on to a later epoch."
    OFFSET_METADATA_TOO_LARGE = (
        12,
        False,
        "The metadata beside a committed offset is longer than offset.metadata.max.bytes.",
    )
    NETWORK_EXCEPTION = 13, True, "The connection went away before the answer came."
    COORDINATOR_LOAD_IN_PROGRESS = 14, True, "The coordinator is reading its log and will answer soon."
    COORDINATOR_NOT_AVAILABLE = 15, True, "There is no coordinator at the moment."
    NOT_COORDINATOR = 16, True, "Another node coordinates this group or transaction."
    INVALID_TOPIC_EXCEPTION = 17, False, "The topic's name is not allowed, or the topic is internal."
    RECORD_LIST_TOO_LARGE = 18, False, "The batches are larger than a log segment."
    NOT_ENOUGH_REPLICAS = (
        19,
        True,
        "Fewer replicas are in sync than min.insync.replicas asks for; nothing was appended.",
    )
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20, True, "The batch was appended, but too few replicas are in sync."
    INVALID_REQUIRED_ACKS = 21, False, "acks must be -1, 0 or 1."
    ILLEGAL_GENERATION = 22, False, "The group is in another generation than the request."
    INCONSISTENT_GROUP_PROTOCOL = 23, False, "The member has no protocol in common with its group."
    INVALID_GROUP_ID = 24, False, "The group id is not allowed."
    UNKNOWN_MEMBER_ID = 25, False, "The group does not know this member; it must join anew."
    INVALID_SESSION_TIMEOUT = (
        26,
        False,
        "The session timeout lies outside group.min.session.timeout.ms and group.max.session.timeout.ms.",
    )
    REBALANCE_IN_PROGRESS = 27, False, "The group is rebalancing; the member should join again."
    INVALID_COMMIT_OFFSET_SIZE = 28, False, "The offsets to commit do not fit into one message."
    TOPIC_AUTHORIZATION_FAILED = 29, False, "Access to the topic was denied."
    GROUP_AUTHORIZATION_FAILED = 30, False, "Access to the group was denied."
    CLUSTER_AUTHORIZATION_FAILED = 31, False, "Access to the cluster was denied."
    INVALID_TIMESTAMP = 32, False, "A record's timestamp is outside what the topic accepts."
    UNSUPPORTED_SASL_MECHANISM = 33, False, "The broker does not offer this SASL mechanism."
    ILLEGAL_SASL_STATE = 34, False, "The request is out of turn for the state of authentication."
    UNSUPPORTED_VERSION = 35, False, "The broker does not serve this version."
    TOPIC_ALREADY_EXISTS = 36, False, "There is a topic of this name already."
    INVALID_PARTITIONS = 37, False, "The number of partitions is not allowed."
    INVALID_REPLICATION_FACTOR = 38, False, "The replication factor is below one or above the number of brokers."
    INVALID_REPLICA_ASSIGNMENT = 39, False, "The replicas named for a partition are not allowed."
    INVALID_CONFIG = 40, False, "A configuration's name or value is not allowed."
    NOT_CONTROLLER = 41, True, "Another node is the controller."
    INVALID_REQUEST = 42, False, "The request contradicts itself or breaks a rule of its API."
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43, False, "The log's record format cannot do what was asked."
    POLICY_VIOLATION = 44, False, "The request breaks a policy of the broker."
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45, False, "The producer's sequence number does not follow the last one."
    DUPLICATE_SEQUENCE_NUMBER = 46, False, "The producer's sequence number was seen before."
    INVALID_PRODUCER_EPOCH = 47, False, "A newer instance of this producer has written already."
    INVALID_TXN_STATE = 48, False, "The transaction is not in a state that allows this."
    INVALID_PRODUCER_ID_MAPPING = 49, False, "The producer id does not belong to this transactional id."
    INVALID_TRANSACTION_TIMEOUT = 50, False, "The transaction timeout is above transaction.max.timeout.ms."
    CONCURRENT_TRANSACTIONS = 51, True, "The previous step of this transaction is still under way."
    TRANSACTION_COORDINATOR_FENCED = 52, False, "A newer transaction coordinator has taken over."
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53, False, "Use of the transactional id was denied."
    SECURITY_DISABLED = 54, False, "The broker has no access control switched on."
    OPERATION_NOT_ATTEMPTED = 55, False, "Left undone because another part of the request failed."
    KAFKA_STORAGE_ERROR = 56, True, "The log cannot be written or read at the moment."
    LOG_DIR_NOT_FOUND = 57, False, "The broker has no such log directory."
    SASL_AUTHENTICATION_FAILED = 58, False, "The credentials were refused."
    UNKNOWN_PRODUCER_ID = 59, False, "The broker has no record of this producer."
    REASSIGNMENT_IN_PROGRESS = 60, False, "The partition's replicas are being reassigned."
    DELEGATION_TOKEN_AUTH_DISABLED = 61, False, "Delegation tokens are switched off."
    DELEGATION_TOKEN_NOT_FOUND = 62, False, "There is no such delegation token."
    DELEGATION_TOKEN_OWNER_MISMATCH = 63, False, "The delegation token belongs to somebody else."
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = (
        64,
        False,
        "Delegation tokens cannot be asked for on this kind of connection.",
    )
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65, False, "Access to the delegation token was denied."
    DELEGATION_TOKEN_EXPIRED = 66, False, "The delegation token has run out."
    INVALID_PRINCIPAL_TYPE = 67, False, "This kind of principal is not supported."
    NON_EMPTY_GROUP = 68, False, "The group still has members."
    GROUP_ID_NOT_FOUND = 69, False, "There is no such group."
    FETCH_SESSION_ID_NOT_FOUND = 70, True, "The broker does not keep this fetch session."
    INVALID_FETCH_SESSION_EPOCH = 71, True, "The fetch session expected another epoch."
    LISTENER_NOT_FOUND = 72, True, "The leader has no listener of the kind the request came in on."
    TOPIC_DELETION_DISABLED = 73, False, "delete.topic.enable is false."
    FENCED_LEADER_EPOCH = 74, True, "The request names an older leader epoch than the partition has."
    UNKNOWN_LEADER_EPOCH = 75, True, "The request names a newer leader epoch than the partition has."
    UNSUPPORTED_COMPRESSION_TYPE = 76, False, "This version of the API does not allow the batch's compression."
    STALE_BROKER_EPOCH = 77, False, "The broker's registration is out of date."
    OFFSET_NOT_AVAILABLE = 78, True, "The new leader does not know the end of its log yet."
    MEMBER_ID_REQUIRED = 79, False, "The member must join again with the id given in this answer."
    PREFERRED_LEADER_NOT_AVAILABLE = 80, True, "The preferred leader is away."
    GROUP_MAX_SIZE_REACHED = 81, False, "The group has group.max.size members."
    FENCED_INSTANCE_ID = 82, False, "Another member has taken over this static instance id."
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83, True, "No replica that may lead is there."
    ELECTION_NOT_NEEDED = 84, True, "The partition is led as it should be."
    NO_REASSIGNMENT_IN_PROGRESS = 85, False, "There is no reassignment to cancel."
    GROUP_SUBSCRIBED_TO_TOPIC = 86, False, "The group's members are subscribed to the topic."
    INVALID_RECORD = 87, False, "A record breaks a rule of its topic or of the record format."
    UNSTABLE_OFFSET_COMMIT = 88, True, "An open transaction holds an offset for the partition."
    THROTTLING_QUOTA_EXCEEDED = 89, True, "The client has used up its quota."
    PRODUCER_FENCED = 90, False, "A newer producer with the same transactional id has started."
    RESOURCE_NOT_FOUND = 91, False, "There is nothing of this name."
    DUPLICATE_RESOURCE = 92, False, "The request names the same thing twice."
    UNACCEPTABLE_CREDENTIAL = 93, False, "The credential does not meet the broker's rules."
    INCONSISTENT_VOTER_SET = 94, False, "The quorum's voters differ from those in the request."
    INVALID_UPDATE_VERSION = 95, False, "The feature cannot be set to this level."
    FEATURE_UPDATE_FAILED = 96, False, "The features could not be updated."
    PRINCIPAL_DESERIALIZATION_FAILURE = 97, False, "The forwarded principal could not be read."
    SNAPSHOT_NOT_FOUND = 98, False, "There is no such snapshot."
    POSITION_OUT_OF_RANGE = 99, False, "The position lies outside the snapshot."
    UNKNOWN_TOPIC_ID = 100, True, "No topic has this id here."
    DUPLICATE_BROKER_REGISTRATION = 101, False, "A broker with this id is registered already."
    BROKER_ID_NOT_REGISTERED = 102, False, "No broker with this id is registered."
    INCONSISTENT_TOPIC_ID = 103, True, "The topic was made anew and has another id."
    INCONSISTENT_CLUSTER_ID = 104, False, "The request was meant for another cluster."
    TRANSACTIONAL_ID_NOT_FOUND = 105, False, "There is no such transactional id."
    FETCH_SESSION_TOPIC_ID_ERROR = 106, True, "The fetch session mixes topic names and topic ids."
    INELIGIBLE_REPLICA = 107, False, "The replica may not join those in sync."
    NEW_LEADER_ELECTED = 108, False, "The change made another replica the leader."
    OFFSET_MOVED_TO_TIERED_STORAGE = 109, False, "The offset has been moved to tiered storage."
    FENCED_MEMBER_EPOCH = 110, False, "The member's epoch is behind that of the group; it must join anew."
    UNRELEASED_INSTANCE_ID = 111, False, "Another member still holds this static instance id."
    UNSUPPORTED_ASSIGNOR = 112, False, "The broker does not have the assignor that was named."
    STALE_MEMBER_EPOCH = 113, False, "The member's epoch is out of date; it must catch up and try again."
    MISMATCHED_ENDPOINT_TYPE = 114, False, "The request went to the wrong kind of endpoint."
    UNSUPPORTED_ENDPOINT_TYPE = 115, False, "This kind of endpoint is not known."
    UNKNOWN_CONTROLLER_ID = 116, False, "There is no controller with this id."
    UNKNOWN_SUBSCRIPTION_ID = 117, False, "The telemetry subscription is not the current one."
    TELEMETRY_TOO_LARGE = 118, False, "The telemetry is larger than the broker accepts."
    INVALID_REGISTRATION = 119, False, "The registration contradicts the cluster's settings."
    TRANSACTION_ABORTABLE = 120, False, "The transaction can only be aborted now."
    INVALID_RECORD_STATE = 121, False, "The record is not in a state that allows this acknowledgement."
    SHARE_SESSION_NOT_FOUND = 122, True, "The broker does not keep this share session."
    INVALID_SHARE_SESSION_EPOCH = 123, True, "The share session expected another epoch."
    FENCED_STATE_EPOCH = 124, False, "The state's epoch has moved on."
    INVALID_VOTER_KEY = 125, False, "The voter's directory id does not match."
    DUPLICATE_VOTER = 126, False, "The voter is in the set already."
    VOTER_NOT_FOUND = 127, False, "The voter is not in the set."
    INVALID_REGULAR_EXPRESSION = 128, False, "The regular expression cannot be read."
    REBOOTSTRAP_REQUIRED = 129, False, "The client should start again from its bootstrap servers."
    STREAMS_INVALID_TOPOLOGY = 130, False, "The streams topology breaks a rule."
    STREAMS_INVALID_TOPOLOGY_EPOCH = 131, False, "The streams topology has another epoch than the group's."
    STREAMS_TOPOLOGY_FENCED = 132, False, "The streams topology's epoch is out of date."
    SHARE_SESSION_LIMIT_REACHED = 133, True, "The broker keeps as many share sessions as it may."
    GROUP_DELETION_FAILED = 134, False, "The group could not be deleted."
    STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED = 135, False, "The streams topology's description could not be kept."
    CONTROLLER_ID_NOT_REGISTERED = 136, False, "No controller with this id is registered."


#: The same, for what goes on with each request: to find a member in its enum takes Python 3.11 as long as two calls.
NONE: Final = ErrorCode.NONE


def error_name(number: int) -> str:
    """Kafka's name for the error of this number, or the number where it has none."""
    return _NAMES.get(number, str(number))


_NAMES: Final = {int(error): error.name for error in ErrorCode}
