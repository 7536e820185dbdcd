// The timeline: a lane for each group, its states as bars, what was unread below them, a mark for each rebalance above.

const STATES = ["Stable", "CompletingRebalance", "PreparingRebalance", "Empty"];
const NAMES = 190, LANE = 46, TOP = 26, BAR = 16, UNREAD = 6, BAR_PIXELS_MIN = 1.5;
const SVG = "http://www.w3.org/2000/svg";

class Timeline {
  constructor(box, drawn, rows) {
    Object.assign(this, { box, drawn, rows, chosen: null });
    this.axis = new Axis(drawn.span);
    this.height = TOP + LANE * drawn.groups.length;
    new ResizeObserver(() => this.draw()).observe(box);
    this.listen();
  }

  draw() {
    this.width = Math.max(200, this.box.clientWidth - NAMES);
    const svg = make("svg", { width: this.width + NAMES, height: this.height, viewBox: `0 0 ${this.width + NAMES} ${this.height}`, role: "img", "aria-label": "Timeline of the groups. All rebalances are in the list below." });
    const plot = make("svg", { x: NAMES, y: 0, width: this.width, height: this.height });
    plot.append(...this.ticks(), ...this.states(), ...this.unread(), ...this.marks());
    svg.append(plot, ...this.names());
    this.box.replaceChildren(svg);
  }

  names() {
    return this.drawn.groups.map((name, lane) => {
      const short = name.length > 26 ? `${name.slice(0, 25)}…` : name;
      const text = make("text", { x: NAMES - 12, y: this.top(lane) + BAR - 3, class: "name" }, short);
      text.append(make("title", {}, name));
      return text;
    });
  }

  ticks() {
    const found = [];
    for (const { at, text } of this.axis.ticks(this.drawn.from, this.width)) {
      const x = this.axis.x(at, this.width);
      found.push(make("line", { x1: x, x2: x, y1: TOP - 6, y2: this.height, class: "tick" }));
      if (x < this.width - 84) found.push(make("text", { x: x + 4, y: 13, class: "time" }, text));
    }
    return found;
  }

  // One path for all spans of a state, however many there are; short ones are still seen.
  states() {
    const paths = STATES.map(() => []);
    for (const [lane, state, since, until] of this.drawn.states) paths[state].push(this.bar(since, until, this.top(lane), BAR));
    return [3, 0, 1, 2].map((state) => make("path", { d: paths[state].join(""), class: STATES[state] }));
  }

  unread() {
    const path = [];
    for (const [lane, started, duration, unread] of this.drawn.rebalances) {
      if (unread > 0) path.push(this.bar(started + duration - unread, started + duration, this.top(lane) + BAR + 2, UNREAD));
    }
    return [make("path", { d: path.join(""), class: "unread" })];
  }

  bar(since, until, y, height) {
    const x = this.axis.x(since, this.width);
    const end = Math.max(this.axis.x(until, this.width), x + BAR_PIXELS_MIN);
    if (end < 0 || x > this.width) return "";
    const from = Math.max(-2, x);
    return `M${from.toFixed(1)} ${y}h${(Math.min(this.width + 2, end) - from).toFixed(1)}v${height}H${from.toFixed(1)}z`;
  }

  marks() {
    return this.drawn.rebalances.map(([lane, started], index) => {
      const x = this.axis.x(started, this.width), y = this.top(lane) - 2;
      if (x < -9 || x > this.width + 9) return "";
      const mark = make("path", { d: `M${(x - 5).toFixed(1)} ${y - 8}h10l-5 8z`, class: index === this.chosen ? "mark chosen" : "mark", "data-index": index });
      mark.append(make("title", {}, this.told(index)));
      mark.addEventListener("click", () => this.choose(index, true));
      return mark;
    });
  }

  told(index) {
    const [started, group, cause, who, unstable, unread, outcome] = [...this.rows[index].cells].map((cell) => cell.textContent);
    return `${group}: ${cause}${who === "-" ? "" : `, ${who}`}\n${started} UTC, ${outcome}\nunstable ${unstable} ms, unread ${unread} ms`;
  }

  top(lane) {
    return TOP + LANE * lane + 14;
  }

  // Show it in the middle, with some time around it, and its line in the list.
  choose(index, reveals) {
    const [, started, duration, unread] = this.drawn.rebalances[index];
    const end = started + (duration ?? 0), since = unread === null ? started : end - unread;
    const around = Math.max(20, (end - since) * 1.5);
    this.chosen = index;
    this.axis.show(since - around, end + around);
    this.rows.forEach((row, at) => row.classList.toggle("chosen", at === index));
    (reveals ? this.rows[index] : this.box).scrollIntoView({ block: "nearest" });
    this.draw();
  }

  listen() {
    const on = (id, act) => document.getElementById(id).addEventListener("click", () => (act(), this.draw()));
    on("zoom-in", () => this.axis.zoom(0.5));
    on("zoom-out", () => this.axis.zoom(2));
    on("fit", () => this.axis.fit());
    this.rows.forEach((row, index) => row.addEventListener("click", () => this.choose(index, false)));
    this.box.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      this.axis.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.axis.at(event.clientX - this.box.getBoundingClientRect().left - NAMES, this.width));
      this.draw();
    }, { passive: false });
    this.box.addEventListener("pointermove", (event) => {
      if (!(event.buttons & 1)) return;
      this.axis.pan((-event.movementX / this.width) * (this.axis.to - this.axis.from));
      this.draw();
    });
    // Paper is as wide as it is: the drawing shrinks to it.
    addEventListener("beforeprint", () => (this.axis.fit(), this.draw()));
  }
}

function make(tag, attributes, text) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

const box = document.getElementById("timeline");
const drawn = JSON.parse(document.getElementById("drawn").textContent);
if (box) window.ottlaTimeline = new Timeline(box, drawn, [...document.querySelectorAll("#rebalances tbody tr")]);
