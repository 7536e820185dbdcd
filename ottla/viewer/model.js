// Events and requests as the viewer needs them: one list of items in order, and a lane for the broker, each group, each
// member and each client.

// Errors that are part of the usual course.
const EXPECTED = new Map([["JoinGroup", "MEMBER_ID_REQUIRED"], ["Heartbeat", "REBALANCE_IN_PROGRESS"]]);

function makeRun(trace) {
  const items = [...trace.events.map(eventItem), ...trace.requests.map(requestItem)];
  const at = (item) => item.real_ms ?? item.broker_ms;
  items.sort((one, other) => at(one) - at(other));
  items.forEach((item, order) => (item.order = order));
  const run = { trace, items, hasReal: items.some((item) => item.real_ms !== null), ...makeLanes(items) };
  for (const lane of run.lanes) addSpans(lane, run);
  return run;
}

function eventItem(event) {
  const isBad = event.level === "error" || event.level === "warning" || event.kind === "group.join.refused";
  return { ...event, category: categoryOf(event.kind), isBad, text: event.said };
}

function requestItem(request) {
  const isBad = request.errors.some((name) => name !== EXPECTED.get(request.api));
  const became = request.errors.length ? [...new Set(request.errors)].join(", ") : request.is_answered ? "" : "no answer";
  return {
    ...request,
    kind: "request",
    category: POLLS.has(request.api) && !request.errors.length ? "polls" : "requests",
    isBad,
    became,
    text: `${request.api} v${request.api_version}${became ? ` → ${became}` : ""}`,
  };
}

function makeLanes(items) {
  const brokerLane = newLane("broker", "broker");
  const groups = new Map();
  const clients = new Map();
  const groupOf = (id) => {
    if (!groups.has(id)) groups.set(id, { lane: newLane("group", id, { group: id }), members: new Map(), byClient: new Map() });
    return groups.get(id);
  };
  const memberOf = (group, id) => {
    if (!group.members.has(id)) group.members.set(id, newLane("member", shortened(id), { group: group.lane.group, member: id }));
    return group.members.get(id);
  };
  const clientOf = (id) => {
    if (!clients.has(id)) clients.set(id, newLane("client", id || "(no client id)", { client: id }));
    return clients.get(id);
  };
  for (const item of items) {
    if (item.kind !== "group.member.joined") continue;
    const group = groupOf(item.group_id);
    const lane = memberOf(group, item.member_id);
    lane.client = item.details.client_id;
    lane.instance = item.details.group_instance_id;
    lane.sessionTimeoutMs = item.details.session_timeout_ms;
    group.byClient.set(lane.client, group.byClient.has(lane.client) ? null : lane);
  }
  for (const item of items) {
    const client = isEvent(item) ? item.details.client_id : item.client_id;
    let lane = brokerLane;
    if (item.group_id) {
      const group = groupOf(item.group_id);
      const isOfGroup = isEvent(item) && item.category === "groups";
      const member = !isOfGroup && (item.member_id ? memberOf(group, item.member_id) : group.byClient.get(client));
      lane = member || (isEvent(item) ? group.lane : clientOf(client));
    } else if (!isEvent(item) || (item.category === "faults" && client)) {
      lane = clientOf(client);
    }
    item.lane = lane;
    lane.items.push(item);
  }
  const lanes = [brokerLane];
  for (const { lane, members } of groups.values()) {
    lane.members = [...members.values()];
    lanes.push(lane, ...lane.members);
  }
  lanes.push(...clients.values());
  lanes.forEach((lane, index) => (lane.index = index));
  return { lanes, groups: new Map([...groups].map(([id, group]) => [id, group.lane])) };
}

// label: what stands before the lane; name: the whole of it, for the tip.
function newLane(kind, label, more = {}) {
  return { kind, label, name: more.member ?? more.client ?? label, items: [], spans: [], silences: [], ...more };
}
