// The report of rebalances: a lane for each group, with its states, when partitions were unread, and a mark for each
// rebalance. A rebalance is chosen in the lanes or in the list.

// By the numbers that stand for them in the data.
const STATES = [
  { state: "generation", generation: 1, labels: ["stable"] },
  { state: "syncing", labels: ["assignment awaited", "sync"] },
  { state: "rebalance", labels: ["members join again", "rebalance"] },
  { state: "empty", labels: ["no members", "empty"] },
];
// A taller canvas is refused by browsers; the lanes scroll then.
const CANVAS_PX_MAX = 30000;

function makeReport(drawn, rows) {
  const lanes = drawn.groups.map((name, index) => newLane("group", name, { group: name, index }));
  const items = drawn.rebalances.map(([lane, since, duration, unread], order) => {
    const item = { lane: lanes[lane], broker_ms: since, ends: since + (duration ?? 0), unread, order, row: rows[order] };
    item.lane.items.push(item);
    return Object.assign(item, { isShown: true, category: "groups", look: LOOKS.rebalance });
  });
  for (const [lane, state, since, until] of drawn.states) {
    const { spans } = lanes[lane];
    const last = spans[spans.length - 1];
    if (last && last.to.broker_ms > since) last.to = { broker_ms: since }; // its end is not known: the broker was killed
    spans.push({ ...STATES[state], from: { broker_ms: since }, to: { broker_ms: until } });
  }
  for (const item of items) if (item.unread > 0) addUnread(item.lane.silences, item.ends - item.unread, item.ends);
  return { items, lanes, groups: new Map(lanes.map((lane) => [lane.group, lane])), zero_ms: drawn.from, span_ms: Math.max(1, drawn.span) };
}

// Times that overlap become one.
function addUnread(unread, since, until) {
  while (unread.length && unread[unread.length - 1].to.broker_ms >= since) since = Math.min(since, unread.pop().from.broker_ms);
  unread.push({ from: { broker_ms: since }, to: { broker_ms: until } });
}

class Report {
  constructor(drawn, rows) {
    this.run = makeReport(drawn, rows);
    this.lanes = new Lanes(byId("lanes"));
    this.axis = new Axis(this.run, "date", 100);
    this.lanes.show(this.run, this.axis, this.run.lanes);
    byId("stage").style.height = `${Math.min(this.lanes.height + RULER_PX + 12, CANVAS_PX_MAX)}px`;
    this.stage = new Stage(this.lanes, (item) => this.choose(item, true), (item) => this.told(item));
    for (const item of this.run.items) item.row.addEventListener("click", () => this.choose(item, false));
    addEventListener("beforeprint", () => this.print(true));
    addEventListener("afterprint", () => this.print(false));
  }

  // Show it in the middle, with some time around it, and its line in the list.
  choose(item, reveals) {
    const since = item.unread === null ? item.broker_ms : item.ends - item.unread;
    const around = Math.max(20, (item.ends - since) * 1.5);
    for (const { row } of this.run.items) row.classList.toggle("chosen", row === item.row);
    (reveals ? item.row : byId("stage")).scrollIntoView({ block: "nearest" });
    this.lanes.selected = item;
    this.axis.show(since - around, item.ends + around);
    this.lanes.reveal(item);
  }

  told({ row }) {
    const [started, group, cause, causer, unstable, unread, outcome] = [...row.cells].map((cell) => cell.textContent);
    return `${group}: ${cause}${causer === "-" ? "" : `, ${causer}`}\n${started} UTC, ${outcome}\nunstable ${unstable} ms, unread ${unread} ms`;
  }

  // Paper gets all of the time, in light colours.
  print(isPaper) {
    document.documentElement.classList.toggle("paper", isPaper);
    if (isPaper) this.axis.fit();
    this.lanes.readColours();
    this.lanes.draw();
  }
}

const drawn = JSON.parse(byId("drawn").textContent);
if (byId("lanes")) window.ottlaReport = new Report(drawn, [...document.querySelectorAll("#rebalances tbody tr")]);
