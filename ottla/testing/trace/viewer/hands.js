// What hands do with the lanes: the wheel scrolls, and zooms with Ctrl; dragging pans; a click selects; keys do all of it.

// How near to a mark one has to be.
const REACH_PX = 7;

class Hands {
  constructor(lanes, onSelect, onHover) {
    this.lanes = lanes;
    this.onSelect = onSelect;
    this.onHover = onHover;
    this.grabbed = null;
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
    canvas.addEventListener("pointerleave", () => this.onHover(null));
    canvas.addEventListener("dblclick", (event) => {
      this.lanes.axis.zoom(0.4, Math.max(0, this.place(event)[0]));
      this.lanes.redraw();
    });
    canvas.addEventListener("keydown", (event) => this.press(event));
  }

  // Where in the lanes, from their own left and top.
  place(event) {
    const box = this.lanes.canvas.getBoundingClientRect();
    return [event.clientX - box.left - LABELS_PX, event.clientY - box.top - RULER_PX + this.lanes.scrollTop];
  }

  turn(event) {
    const { lanes } = this;
    event.preventDefault();
    if (event.ctrlKey || event.metaKey || event.altKey) lanes.axis.zoom(Math.exp(event.deltaY / 300), Math.max(0, this.place(event)[0]));
    else if (event.shiftKey) lanes.axis.pan(event.deltaY + event.deltaX);
    else {
      lanes.axis.pan(event.deltaX);
      lanes.scroll(event.deltaY);
    }
    lanes.redraw();
  }

  move(event) {
    const { grabbed, lanes } = this;
    if (!grabbed) {
      this.onHover(this.itemAt(...this.place(event)), event);
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

  // The item whose mark is there, or the one that began the span that is there.
  itemAt(x, y) {
    const row = this.lanes.rows.find((candidate) => y >= candidate.top && y < candidate.top + candidate.height);
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
