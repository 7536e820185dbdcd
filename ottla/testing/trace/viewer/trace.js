// The page of a trace: which run is shown, what of it, and what is selected.

const AXES = [
  ["real", "Real", "by the machine's time"],
  ["broker", "Broker", "by the broker's time, which a test may move"],
  ["order", "Steps", "as much room for each thing"],
];

class App {
  constructor(traces) {
    this.runs = traces.map(makeRun);
    this.hidden = new Set(["connections", "polls"]);
    this.filter = { text: "", group: "", member: "" };
    this.lanes = new Lanes(byId("lanes"));
    new Stage(this.lanes, (item) => this.select(item), tipText);
    this.list = new List(byId("list"), (item) => this.select(item));
    this.listen();
    this.showRun(this.runs[0]);
    this.showDifference();
  }

  showRun(run) {
    this.run = run;
    const { trace } = run;
    byId("title").textContent = trace.title;
    byId("outcome").textContent = trace.outcome ?? "";
    byId("outcome").className = `badge ${trace.outcome === "failed" ? "failed" : "passed"}`;
    byId("outcome").hidden = !trace.outcome;
    const last = run.items[run.items.length - 1];
    const parts = [counted(trace.events.length, "event")];
    if (trace.has_requests) parts.push(counted(trace.requests.length, "request"));
    if (last) parts.push(run.hasReal ? `${span(last.real_ms)} real, ${span(last.broker_ms)} by the broker's clock` : `${span(last.broker_ms)} by the broker's clock`);
    byId("summary").textContent = parts.join(" · ");
    const notes = [trace.note, trace.lost ? `${counted(trace.lost, "event")} before these are not known any more.` : "", trace.has_requests ? "" : "Requests were not recorded."].filter(Boolean);
    byId("note").textContent = notes.join(" ");
    byId("note").hidden = !notes.length;
    fillChoice(byId("group"), "All groups", [...run.groups.keys()]);
    fillChoice(byId("member"), "All members", run.lanes.filter((lane) => lane.kind === "member" || lane.kind === "client").map((lane) => lane.member ?? lane.client));
    this.filter = { text: byId("search").value.toLowerCase(), group: "", member: "" };
    const modes = AXES.filter(([mode]) => mode !== "real" || run.hasReal);
    const hasMoved = run.items.some((item) => item.kind === "time.advanced");
    this.mode = hasMoved ? "order" : modes[0][0];
    byId("axes").replaceChildren(...modes.map(([mode, label, title]) => make("button", { type: "button", title, role: "radio", "data-axis": mode, onclick: () => this.setMode(mode) }, label)));
    this.selected = null;
    showDetails(byId("details"), null);
    this.list.select(null);
    this.lanes.selected = null;
    this.applyFilter();
    this.setMode(this.mode);
  }

  setMode(mode) {
    this.mode = mode;
    for (const button of byId("axes").children) button.setAttribute("aria-checked", String(button.dataset.axis === mode));
    this.axis = new Axis(this.run, mode, 100);
    this.lanes.show(this.run, this.axis, this.rows());
    if (this.selected) this.lanes.reveal(this.selected);
  }

  // Lanes with something to show; those of a chosen group are all there.
  rows() {
    const { group, member } = this.filter;
    return this.run.lanes.filter((lane) => {
      if (group && lane.group !== undefined && lane.group !== group) return false;
      if (member && lane.kind === "member" && lane.member !== member && lane.client !== member) return false;
      return lane.kind === "group" || lane.kind === "broker" || lane.spans.length > 0 || lane.items.some((item) => item.isShown);
    });
  }

  applyFilter() {
    const { text, group, member } = this.filter;
    const counts = new Map();
    const shown = [];
    for (const item of this.run.items) {
      counts.set(item.category, (counts.get(item.category) ?? 0) + 1);
      item.isShown = !this.hidden.has(item.category) && (!group || item.group_id === group || item.lane.group === group) && (!member || concerns(item, member)) && (!text || haystack(item).includes(text));
      if (item.isShown) shown.push(item);
    }
    this.showKinds(counts);
    this.list.show(shown);
    byId("count").textContent = `${shown.length.toLocaleString("en")} of ${this.run.items.length.toLocaleString("en")} shown`;
    if (!this.axis || this.axis.run !== this.run) return;
    this.axis.refresh();
    if (this.mode === "order") this.axis.fit();
    this.lanes.show(this.run, this.axis, this.rows());
  }

  showKinds(counts) {
    const chips = CATEGORIES.filter(([category]) => counts.has(category)).map(([category, label, title]) =>
      make("button", { type: "button", title, "data-kind": category, "aria-pressed": String(!this.hidden.has(category)), onclick: () => this.toggleKind(category) }, label, make("span", { class: "of" }, counts.get(category).toLocaleString("en"))));
    const focused = document.activeElement?.dataset?.kind;
    byId("kinds").replaceChildren(...chips);
    chips.find((chip) => chip.dataset.kind === focused)?.focus();
  }

  toggleKind(category) {
    if (!this.hidden.delete(category)) this.hidden.add(category);
    this.applyFilter();
  }

  setFilter(name, value) {
    if (name === "text") byId("search").value = value;
    if (name === "group" || name === "member") byId(name).value = value;
    this.filter[name] = name === "text" ? value.toLowerCase() : value;
    this.applyFilter();
  }

  clear() {
    byId("search").value = byId("group").value = byId("member").value = "";
    this.filter = { text: "", group: "", member: "" };
    this.applyFilter();
  }

  select(item) {
    this.selected = item;
    this.list.select(item);
    this.lanes.selected = item;
    this.lanes.reveal(item);
    showDetails(byId("details"), item, (name, value) => this.setFilter(name, value));
  }

  // --- two runs ---

  async addFile(file) {
    try {
      const traces = tracesIn(await file.text());
      this.runs = [this.runs[0], makeRun(traces[0])];
      this.showDifference();
    } catch (error) {
      this.say(`${file.name} cannot be compared: ${error.message}`);
    }
  }

  say(text) {
    byId("difference").hidden = false;
    byId("difference").replaceChildren(make("p", {}, text));
  }

  showDifference() {
    const [one, other] = this.runs;
    byId("shown-box").hidden = !other;
    byId("difference").hidden = !other;
    if (!other) return;
    byId("shown").replaceChildren(...this.runs.map((run, index) => make("option", { value: index }, `${"AB"[index]}: ${nameOf(run)}`)));
    byId("shown").value = String(this.runs.indexOf(this.run));
    const differences = compareRuns(one, other);
    const box = byId("difference");
    if (!differences.length) {
      box.replaceChildren(make("h2", {}, "The two runs do not differ, but for times and what clients ask all the time."));
      return;
    }
    const [first, ...more] = differences;
    box.replaceChildren(make("h2", {}, `The first difference: ${first.name}, after ${counted(first.equal, "equal step")}`), this.sides(first));
    if (!more.length) return;
    const rest = make("details", {}, make("summary", {}, `${counted(more.length, "more")} of what differs`.replace("mores", "more")));
    for (const difference of more) rest.append(make("h2", {}, `${difference.name}, after ${counted(difference.equal, "equal step")}`), this.sides(difference));
    box.append(rest);
  }

  sides(difference) {
    const sides = make("div", { class: "sides" });
    [difference.here, difference.there].forEach((side, index) => {
      const run = this.runs[index];
      const step = side ? make("button", { type: "button", class: "link step", onclick: () => this.goTo(run, side.item) }, side.step) : make("span", { class: "hint" }, "nothing more");
      sides.append(make("span", { class: "side" }, `${"AB"[index]}: ${nameOf(run)}`), step);
    });
    return sides;
  }

  goTo(run, item) {
    if (this.run !== run) {
      this.showRun(run);
      byId("shown").value = String(this.runs.indexOf(run));
    }
    if (!item.isShown) {
      this.hidden.delete(item.category);
      this.clear();
    }
    this.select(item);
  }

  // --- what a person does ---

  listen() {
    byId("search").addEventListener("input", (event) => this.setFilter("text", event.target.value));
    for (const name of ["group", "member"]) byId(name).addEventListener("change", (event) => this.setFilter(name, event.target.value));
    byId("compare").addEventListener("click", () => byId("file").click());
    byId("file").addEventListener("change", (event) => event.target.files[0] && this.addFile(event.target.files[0]));
    byId("shown").addEventListener("change", (event) => this.showRun(this.runs[Number(event.target.value)]));
    document.addEventListener("keydown", (event) => this.press(event));
    this.listenToHandle(byId("handle"), byId("stage"));
  }

  press(event) {
    const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === "/" && !isTyping) {
      event.preventDefault();
      byId("search").focus();
    } else if (event.key === "Escape") {
      this.clear();
      byId("list").focus();
    }
  }

  listenToHandle(handle, stage) {
    const setHeight = (px) => (stage.style.height = `${Math.max(90, px)}px`);
    handle.addEventListener("pointerdown", (event) => handle.setPointerCapture(event.pointerId));
    handle.addEventListener("pointermove", (event) => handle.hasPointerCapture(event.pointerId) && setHeight(event.clientY - stage.getBoundingClientRect().top - 5));
    handle.addEventListener("keydown", (event) => {
      const by = { ArrowUp: -24, ArrowDown: 24 }[event.key];
      if (!by) return;
      event.preventDefault();
      setHeight(stage.offsetHeight + by);
    });
  }
}

function tipText(item) {
  const times = item.real_ms === null ? span(item.broker_ms) : `${span(item.real_ms)} real · ${span(item.broker_ms)} broker's`;
  return `${item.text}\n${times}`;
}

function nameOf(run) {
  return `${run.trace.title}${run.trace.outcome ? ` (${run.trace.outcome})` : ""}`;
}

function fillChoice(select, all, values) {
  const distinct = [...new Set(values.filter(Boolean))];
  select.replaceChildren(make("option", { value: "" }, all), ...distinct.map((value) => make("option", { value }, shortened(value))));
  select.hidden = distinct.length < 2;
}

function concerns(item, name) {
  return [item.member_id, item.lane.member, item.client_id, item.details?.client_id, item.lane.client].includes(name);
}

// All text of an item, in small letters; made when it is first searched.
function haystack(item) {
  if (item.haystack === undefined) {
    const parts = [item.text, item.kind, item.group_id, item.member_id, item.client_id, JSON.stringify(item.details ?? null), JSON.stringify(item.request ?? null), JSON.stringify(item.answer ?? null)];
    item.haystack = parts.filter(Boolean).join("\n").toLowerCase();
  }
  return item.haystack;
}

// The traces in a page such as this one.
function tracesIn(text) {
  const begin = '<script type="application/json" id="traces">';
  const at = text.indexOf(begin);
  if (at < 0) throw new Error("it is no page of a trace; ottla trace makes one");
  const traces = JSON.parse(text.slice(at + begin.length, text.indexOf("</" + "script>", at)));
  if (traces[0]?.ottla_trace !== 1) throw new Error("it is of another version");
  return traces;
}

window.ottlaTrace = new App(JSON.parse(byId("traces").textContent));
