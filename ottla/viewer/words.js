// Words, numbers and elements: what all parts of a page use. Text that strangers chose becomes text nodes, never markup.

const CATEGORIES = [
  ["groups", "Groups", "rebalances, generations, offsets"],
  ["members", "Members", "members that joined, rejoined, were removed"],
  ["requests", "Requests", "what clients asked and were answered"],
  ["polls", "Polls", "heartbeats, fetches and other requests that clients repeat"],
  ["faults", "Faults", "faults, and requests that were held"],
  ["time", "Time", "time moved, and what concerns the whole broker"],
  ["cluster", "Cluster", "topics, partitions, nodes, logs"],
  ["connections", "Connections", "connections that opened and closed"],
];
// Requests that clients repeat; with an error in the answer one counts as any other request.
const POLLS = new Set(["Heartbeat", "Fetch", "Metadata", "ApiVersions", "ListOffsets", "FindCoordinator"]);
const LONG_ID = /(-[0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g;

function byId(id) {
  return document.getElementById(id);
}

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

// A text with the random parts of member ids cut down.
function shortened(text) {
  return String(text ?? "").replace(LONG_ID, "$1");
}

function counted(number, thing) {
  return `${number.toLocaleString("en")} ${thing}${number === 1 ? "" : "s"}`;
}

// Milliseconds since the start, as people say them: 0.4 ms, 1.250 s, 2:03.000.
function span(ms) {
  if (ms === null || ms === undefined) return "";
  const size = Math.abs(ms);
  if (size < 10) return `${+ms.toFixed(2)} ms`;
  if (size < 1000) return `${Math.round(ms)} ms`;
  if (size < 120000) return `${+(ms / 1000).toFixed(3)} s`;
  return `${Math.floor(ms / 60000)} min ${+((ms % 60000) / 1000).toFixed(1)} s`;
}

function seconds(ms) {
  return ms === null || ms === undefined ? "" : (ms / 1000).toFixed(3);
}

function categoryOf(kind) {
  if (/^(fault\.|request\.)/.test(kind)) return "faults";
  if (/^group\.(member|join)\./.test(kind)) return "members";
  if (/^(group\.|groups\.|group_log\.)/.test(kind)) return "groups";
  if (kind.startsWith("connection.")) return "connections";
  if (/^(topic|partition|leaders|node|log|logs|seed)\./.test(kind)) return "cluster";
  return "time";
}

function isEvent(item) {
  return item.api === undefined;
}

// The first index at which `test` holds, where it holds for all that come after.
function firstIndex(count, test) {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (test(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
