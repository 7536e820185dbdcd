"""What several sentences about events have in common."""

from __future__ import annotations

from ottla.events.kinds.event_kind import Details


def said(details: Details) -> str:
    """What a member gave as its reason."""
    return f' ("{details["reason"]}")' if details.get("reason") else ""


def client(details: Details) -> str:
    """A client and where it is."""
    instance = f", instance {details['group_instance_id']}" if details.get("group_instance_id") else ""
    return f"{details.get('client_id')} at {details.get('client_host')}{instance}"


def peer(details: Details) -> str:
    """The other end of a connection."""
    return f"{details['client_host']}:{details['client_port']} on {details['listener']}"


def hit(details: Details) -> str:
    """What a fault has happened to."""
    place = f"{details['topic']}-{details['partition']}" if "partition" in details else details.get("topic", "")
    if "api" not in details:
        is_append = "group_id" in details or "transactional_id" in details
        return place or ("an append" if is_append else "a connection")
    return f"{details['api']} of {details['client_id']}{f', {place}' if place else ''}"


def void(details: Details) -> str:
    """Whether a deadline had no effect any more."""
    return ", void by then," if details.get("is_void") else ""


def counted(number: int, thing: str) -> str:
    """Such as 1 member, 2 members."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
