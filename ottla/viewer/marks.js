// What an item looks like in its lane, and which of several at the same place is drawn.

function polygon(context, x, y, points) {
  points.forEach(([right, down], index) => (index ? context.lineTo(x + right, y + down) : context.moveTo(x + right, y + down)));
  context.closePath();
}

const LOOKS = {
  poll: { name: "tick", size: 4, colour: "poll" },
  request: { name: "tick", size: 7, colour: "request" },
  badRequest: { name: "tick", size: 7, colour: "bad" },
  fault: { name: "diamond", colour: "fault", points: [[0, -6], [6, 0], [0, 6], [-6, 0]] },
  in: { name: "in", colour: "mark", points: [[-5, -6], [6, 0], [-5, 6]] },
  out: { name: "out", colour: "bad", points: [[-5, -5], [5, -5], [5, 5], [-5, 5]] },
  time: { name: "dot", size: 4.5, colour: "time" },
  connection: { name: "dot", size: 2.5, colour: "faint" },
  bad: { name: "dot", size: 4.5, colour: "bad" },
  // Above a group's band.
  rebalance: { name: "rebalance", colour: "accent", points: [[-5, -33], [5, -33], [0, -25]] },
  other: { name: "dot", size: 4, colour: "mark" },
};

function lookOf(item) {
  if (item.look) return item.look;
  if (!isEvent(item)) return item.isBad ? LOOKS.badRequest : item.category === "polls" ? LOOKS.poll : LOOKS.request;
  if (item.category === "faults") return LOOKS.fault;
  if (item.kind === "group.member.removed") return LOOKS.out;
  if (item.isBad) return LOOKS.bad;
  if (/^group\.member\.(joined|rejoined|replaced)$/.test(item.kind)) return LOOKS.in;
  return { time: LOOKS.time, connections: LOOKS.connection }[item.category] ?? LOOKS.other;
}

function weightOf(item) {
  if (item.weight === undefined) {
    const weights = { polls: 0, connections: 1, requests: 2, cluster: 3, groups: 4, members: 5, time: 4, faults: 6 };
    item.weight = weights[item.category] + (item.isBad ? 3 : 0) + (item.kind === "group.member.removed" ? 3 : 0);
  }
  return item.weight;
}
