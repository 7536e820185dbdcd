// The lanes as a reader uses them: the wheel scrolls, and zooms with Ctrl; dragging pans; a click selects; keys do all of
// it, and so do the buttons `zoom-in`, `zoom-out` and `fit`. A tip tells what is under the mouse.

// How near to a mark the mouse has to be.
const REACH_PX = 7;

class Stage {
  // onSelect: gets an item. tell: an item's text for the tip.
  constructor(lanes, onSelect, tell) {
    Object.assign(this, { lanes, onSelect, tell, grabbed: null });
    const { canvas } = lanes;
    canvas.addEventListener("wheel", (event) => this.turn(event), { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      this.grabbed = { x: event.clientX, y: event.clientY, hasMoved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => {
      const item = this.grabbed && !this.grabbed.hasMoved ? this.itemAt(...this.place(event)) : null;
      this.grabbed = null;
      if (item) this.onSelect(item);
    });
    canvas.addEventListener("pointercancel", () => (this.grabbed = null));
    canvas.addEventListener("pointerleave", () => this.tip(""));
    canvas.addEventListener("dblclick", (event) => this.zoom(0.4, Math.max(0, this.place(event)[0])));
    canvas.addEventListener("keydown", (event) => this.press(event));
    byId("zoom-in").addEventListener("click", () => this.zoom(0.6));
    byId("zoom-out").addEventListener("click", () => this.zoom(1 / 0.6));
    byId("fit").addEventListener("click", () => this.fit());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.recolour());
    // On paper the picture is scaled as it is.
    new ResizeObserver(() => document.documentElement.classList.contains("paper") || lanes.resize()).observe(canvas);
  }

  zoom(factor, x) {
    this.lanes.axis.zoom(factor, x);
    this.lanes.redraw();
  }

  fit() {
    this.lanes.axis.fit();
    this.lanes.redraw();
  }

  recolour() {
    this.lanes.readColours();
    this.lanes.redraw();
  }

  tip(text, event) {
    const tip = byId("tip");
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    const box = this.lanes.canvas.getBoundingClientRect();
    tip.style.left = `${Math.min(event.clientX - box.left + 14, Math.max(0, box.width - tip.offsetWidth - 8))}px`;
    tip.style.top = `${Math.min(event.clientY - box.top + 14, Math.max(0, box.height - tip.offsetHeight - 8))}px`;
  }

  // Where in the lanes, from their own left and top.
  place(event) {
    const box = this.lanes.canvas.getBoundingClientRect();
    return [event.clientX - box.left - this.lanes.labels, event.clientY - box.top - RULER_PX + this.lanes.scrollTop];
  }

  // What the lanes have no use for, the page may scroll by.
  turn(event) {
    const { lanes } = this;
    let isUsed = true;
    if (event.ctrlKey || event.metaKey || event.altKey) lanes.axis.zoom(Math.exp(event.deltaY / 300), Math.max(0, this.place(event)[0]));
    else if (event.shiftKey) lanes.axis.pan(event.deltaY + event.deltaX);
    else {
      lanes.axis.pan(event.deltaX);
      isUsed = lanes.scroll(event.deltaY) || event.deltaX !== 0;
    }
    if (isUsed) event.preventDefault();
    lanes.redraw();
  }

  move(event) {
    const { grabbed, lanes } = this;
    if (!grabbed) {
      const [x, y] = this.place(event);
      const item = this.itemAt(x, y);
      this.tip(item ? this.tell(item) : x < 0 && this.rowAt(y) ? this.rowAt(y).lane.name : "", event);
      return;
    }
    const [across, down] = [event.clientX - grabbed.x, event.clientY - grabbed.y];
    if (!grabbed.hasMoved && Math.hypot(across, down) < 4) return;
    lanes.axis.pan(-across);
    lanes.scroll(-down);
    this.grabbed = { x: event.clientX, y: event.clientY, hasMoved: true };
  }

  press(event) {
    const { axis } = this.lanes;
    const moves = {
      "+": () => axis.zoom(0.7),
      "=": () => axis.zoom(0.7),
      "-": () => axis.zoom(1 / 0.7),
      0: () => axis.fit(),
      ArrowLeft: () => axis.pan(-80),
      ArrowRight: () => axis.pan(80),
      ArrowUp: () => this.lanes.scroll(-40),
      ArrowDown: () => this.lanes.scroll(40),
    };
    if (!moves[event.key] || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    moves[event.key]();
    this.lanes.redraw();
  }

  rowAt(y) {
    return this.lanes.rows.find((candidate) => y >= candidate.top && y < candidate.top + candidate.height);
  }

  // The item whose mark is there, or the one that began the span that is there.
  itemAt(x, y) {
    const row = this.rowAt(y);
    if (!row || x < 0) return null;
    let [best, distance] = [null, REACH_PX + 0.5];
    const { axis } = this.lanes;
    const { items } = row.lane;
    const least = axis.value(x - REACH_PX);
    const most = axis.value(x + REACH_PX);
    for (let index = firstIndex(items.length, (at) => axis.values[items[at].order] >= least); index < items.length; index++) {
      const item = items[index];
      if (axis.values[item.order] > most) break;
      if (!item.isShown) continue;
      const away = Math.abs(axis.x(axis.values[item.order]) - x) - weightOf(item) * 0.4;
      if (away < distance) [best, distance] = [item, away];
    }
    return best ?? this.spanAt(row.lane, axis.value(x));
  }

  spanAt(lane, value) {
    const states = lane.kind === "member" ? (this.lanes.run.groups.get(lane.group)?.spans ?? []) : lane.spans;
    const span = states.find((one) => this.lanes.axis.at(one.from) <= value && (!one.to || this.lanes.axis.at(one.to) >= value));
    return span && span.from.lane ? span.from : null;
  }
}
