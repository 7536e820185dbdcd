// All about one item: of a request, what was asked and answered, decoded.

const OPEN_MAX = 24;

function showDetails(box, item, onFilter) {
  box.replaceChildren();
  box.scrollTop = 0;
  if (!item) {
    box.append(make("p", { class: "hint" }, "Choose something in the lanes or in the list to see all of it here."));
    return;
  }
  box.append(make("h2", { class: item.isBad ? "bad" : "" }, isEvent(item) ? item.text : `${item.api} v${item.api_version}`));
  box.append(factsOf(item, onFilter));
  if (isEvent(item)) box.append(make("h3", {}, item.kind), treeOf(item.details));
  else if (item.request === null) box.append(make("p", { class: "hint" }, "What was asked and answered is not in this file; see docs/trace.md."));
  else box.append(make("h3", {}, "Asked"), treeOf(item.request), make("h3", {}, "Answered"), answerOf(item));
}

function answerOf(item) {
  if (item.answer !== null) return treeOf(item.answer);
  return make("p", { class: "hint" }, item.is_answered ? "Nothing, as it was asked for." : "Nothing, as long as this was recorded.");
}

function factsOf(item, onFilter) {
  const facts = [
    ["real", span(item.real_ms)],
    ["broker", span(item.broker_ms)],
    ["took", span(item.took_ms)],
    ["group", item.group_id, "group"],
    ["member", item.member_id, "text"],
    ["client", item.client_id && `${item.client_id} at ${item.client_host}`],
    ["node", item.node_id],
    ["errors", item.errors?.join(", ")],
  ];
  const list = make("dl", { class: "facts" });
  for (const [name, value, filter] of facts) {
    if (value === undefined || value === null || value === "") continue;
    const shown = filter ? make("button", { type: "button", class: "link", title: "show only these", onclick: () => onFilter(filter, value) }, String(value)) : String(value);
    list.append(make("dt", {}, name), make("dd", {}, shown));
  }
  return list;
}

// JSON as a tree. Long parts are closed, and made only when they are opened.
function treeOf(value) {
  if (value === null || typeof value !== "object") return leafOf(value);
  const entries = Object.entries(value);
  if (!entries.length) return make("span", { class: "leaf nothing" }, Array.isArray(value) ? "none" : "nothing");
  const list = make("ul", { class: "tree" });
  for (const [name, child] of entries) list.append(make("li", {}, branchOf(Array.isArray(value) ? `${name}` : name, child)));
  return list;
}

function branchOf(name, child) {
  const isBranch = child !== null && typeof child === "object" && Object.keys(child).length > 0;
  if (!isBranch) {
    const line = make("span", {}, make("span", { class: "key" }, name), " ");
    line.append(treeOf(child));
    return line;
  }
  const count = Object.keys(child).length;
  const branch = make("details", {}, make("summary", {}, make("span", { class: "key" }, name), Array.isArray(child) ? make("span", { class: "count" }, ` ${count}`) : ""));
  const fill = () => branch.children.length < 2 && branch.append(treeOf(child));
  branch.addEventListener("toggle", fill);
  if (count <= OPEN_MAX) {
    fill();
    branch.open = true;
  }
  return branch;
}

function leafOf(value) {
  if (value === null) return make("span", { class: "leaf nothing" }, "null");
  const isError = typeof value === "string" && /^[A-Z_]+ \(-?\d+\)$/.test(value) && value !== "NONE (0)";
  return make("span", { class: `leaf ${isError ? "bad" : typeof value}` }, String(value));
}
