// What lasts: a group's generations and rebalances, a member's life, and how long it was silent.
//
// A span has `from` and `to`, each a point: an item, or { order, broker_ms } for an instant between items. No `to`: to the end.

// A member without a request for this share of its session timeout is silent: consumers beat more often.
const SILENT_SHARE = 1 / 3;

function addSpans(lane, run) {
  if (lane.kind === "group") addStates(lane);
  if (lane.kind === "member") addLife(lane, run);
}

function addStates(lane) {
  const open = (span) => {
    const last = lane.spans[lane.spans.length - 1];
    if (last && !last.to) last.to = span.from;
    if (span.state) lane.spans.push(span);
  };
  for (const item of lane.items) {
    const generation = item.details.generation_id;
    const generations = [`generation ${generation}`, `gen ${generation}`, `${generation}`];
    if (item.kind === "group.rebalance.started")
      open({ state: "rebalance", from: item, labels: ["rebalance"], causes: causesOf(item) });
    else if (item.kind === "group.rebalance.joined") open({ state: "syncing", from: item, labels: ["sync"] });
    else if (item.kind === "group.rebalance.completed" || item.kind === "group.loaded")
      open({ state: "generation", from: item, labels: generations, generation });
    else if (item.kind === "group.emptied") open({ state: "empty", from: item, labels: ["empty"] });
    else if (item.kind === "group.unloaded" || item.kind === "group.deleted") open({ from: item });
  }
}

// The texts for a rebalance's cause, the longest first: with the member that caused it, and without.
function causesOf(item) {
  const { cause } = item.details;
  return item.member_id ? [`${cause}: ${shortened(item.member_id)}`, cause] : [cause];
}

function addLife(lane, run) {
  let life = null;
  for (const item of lane.items) {
    if (item.kind === "group.member.joined" || (item.kind === "group.member.replaced" && !life)) {
      life = { from: item };
      lane.spans.push(life);
    } else if (item.kind === "group.member.removed" && life) {
      life.to = item;
      if (item.details.cause === "session_expired" && lane.sessionTimeoutMs) addSilenceBefore(lane, item, run);
      life = null;
    }
  }
  const isKnownEarlier = !lane.spans.length && lane.items.some((item) => item.category === "members" && item.kind !== "group.member.id_handed_out" && item.kind !== "group.join.refused");
  if (isKnownEarlier) lane.spans.push({ from: run.items[0], to: lane.items.find((item) => item.kind === "group.member.removed") });
  addSilences(lane);
}

// The silence before a removal. Older journals don't say how long it was: then it was the session timeout.
function addSilenceBefore(lane, removed, run) {
  const broker = removed.broker_ms - (removed.details.silent_ms ?? lane.sessionTimeoutMs);
  const order = Math.max(0, firstIndex(removed.order, (index) => run.items[index].broker_ms > broker) - 1);
  lane.silences.push({ from: { order, broker_ms: broker }, to: removed });
}

// Silences between two recorded requests of a member. A member that waits for the answer to a join is not silent.
function addSilences(lane) {
  if (!lane.sessionTimeoutMs) return;
  let isMember = false;
  let former = null;
  for (const item of lane.items) {
    if (item.kind === "group.member.joined") isMember = true;
    if (item.kind === "group.member.removed") isMember = false;
    if (!isMember) former = null;
    if (!isMember || isEvent(item)) continue;
    const isWaiting = former && (former.api === "JoinGroup" || former.api === "SyncGroup");
    if (former && !isWaiting && item.broker_ms - former.broker_ms > lane.sessionTimeoutMs * SILENT_SHARE)
      lane.silences.push({ from: former, to: item });
    former = item;
  }
  lane.silences.sort((one, other) => one.from.order - other.from.order);
}
