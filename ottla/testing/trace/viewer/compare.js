// What two runs differ in first: step by step, for each group, for the broker, and for what each client asked, where
// both know it.
//
// Steps are told without what differs from run to run anyway: times, ports, durations, and random parts of ids. Repeated
// requests count once, and what clients ask all the time not at all.

const VARYING = /^(duration_ms|client_port|client_host|topic_id|assignment_bytes|member_ids?|leader|replaced_member_id|fault_id|number|group_sequence|seq|correlation_id)$/;

function compareRuns(one, other) {
  const hasRequests = one.trace.has_requests && other.trace.has_requests;
  const [first, second] = [tracksOf(one, hasRequests), tracksOf(other, hasRequests)];
  const differences = [];
  for (const name of new Set([...first.keys(), ...second.keys()])) {
    const difference = firstDifference(name, first.get(name) ?? [], second.get(name) ?? []);
    if (difference) differences.push(difference);
  }
  const place = (difference) => Math.min(difference.here?.share ?? 1, difference.there?.share ?? 1);
  return differences.sort((a, b) => place(a) - place(b));
}

function firstDifference(name, here, there) {
  const count = Math.max(here.length, there.length);
  for (let index = 0; index < count; index++)
    if (here[index]?.step !== there[index]?.step) return { name, equal: index, here: here[index], there: there[index] };
  return null;
}

function tracksOf(run, hasRequests) {
  const tracks = new Map();
  const aliases = new Map();
  for (const item of run.items) {
    if (item.category === "connections" || item.category === "polls" || (!isEvent(item) && !hasRequests)) continue;
    const step = isEvent(item) ? eventStep(item, aliases) : item.text;
    const name = item.group_id && isEvent(item) ? `group ${item.group_id}` : isEvent(item) ? "broker" : `requests of ${item.client_id}`;
    if (!tracks.has(name)) tracks.set(name, []);
    const track = tracks.get(name);
    if (isEvent(item) || track[track.length - 1]?.step !== step) track.push({ step, item, share: item.order / run.items.length });
  }
  return tracks;
}

function eventStep(item, aliases) {
  const details = Object.entries(item.details)
    .filter(([key, value]) => !VARYING.test(key) && value !== null && key !== "group_id")
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .sort();
  return [item.kind, aliasOf(item, aliases), ...details].join(" ");
}

// A member by its client, and the how-manieth of it in its group.
function aliasOf(item, aliases) {
  if (!item.member_id) return "";
  const client = item.details.client_id ?? item.member_id.replace(LONG_ID, "").replace(/-[0-9a-f]{8,}$/, "");
  const key = `${item.group_id} ${item.member_id}`;
  if (!aliases.has(key)) {
    const counter = `${item.group_id}  ${client}`;
    aliases.set(counter, (aliases.get(counter) ?? 0) + 1);
    aliases.set(key, `${client}#${aliases.get(counter)}`);
  }
  return aliases.get(key);
}
