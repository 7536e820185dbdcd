// The lanes, on a canvas: which members were there, in which generation, and what happened when. Draws what is in view.

// The room for labels, and the share of a narrow page that they take at most.
const LABELS_PX = 210;
const LABELS_SHARE = 0.35;
const RULER_PX = 40;
const ROW_PX = { broker: 28, group: 54, member: 28, client: 24 };
const GROUP_GAP_PX = 10;
const BAND_PX = 24;
const STRIP_PX = 6;
const LABEL_PX_MIN = 7;
// Marks are at least so far apart, and spans so wide; else they are drawn as one.
const MARK_PX = 2;
const SPAN_PX = 2;
// With more marks in a lane they have no outline, which would hide them.
const OUTLINED_MAX = 200;
const MOVES_NAMED_MAX = 30;
const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif";
const COLOURS = ["text", "faint", "line", "panel", "stripe", "gen-a", "gen-b", "on-band", "rebalance", "syncing", "on-rebalance", "silent", "bad", "fault", "request", "poll", "mark", "time", "accent"];

class Lanes {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", { alpha: false });
    this.scrollTop = 0;
    this.selected = null;
    this.isDue = false;
    this.readColours();
  }

  readColours() {
    const style = getComputedStyle(document.documentElement);
    this.colour = Object.fromEntries(COLOURS.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  }

  show(run, axis, rows) {
    this.run = run;
    this.axis = axis;
    let top = 0;
    this.rows = rows.map((lane) => {
      if (lane.kind === "group" || (lane.kind === "client" && top && rows[rows.indexOf(lane) - 1]?.kind !== "client")) top += GROUP_GAP_PX;
      const row = { lane, top, height: ROW_PX[lane.kind] };
      top += row.height;
      return row;
    });
    this.height = top;
    this.moves = run.items.filter((item) => item.kind === "time.advanced");
    this.movesBySize = [...this.moves].sort((one, other) => other.details.ms - one.details.ms);
    this.resize();
  }

  resize() {
    const { clientWidth, clientHeight } = this.canvas;
    const scale = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(clientWidth * scale);
    this.canvas.height = Math.round(clientHeight * scale);
    this.context.setTransform(scale, 0, 0, scale, 0, 0);
    this.labels = Math.round(Math.min(LABELS_PX, clientWidth * LABELS_SHARE));
    this.axis.width = Math.max(50, clientWidth - this.labels - 8);
    this.viewHeight = clientHeight;
    this.scroll(0);
  }

  // Returns whether there was anything to scroll.
  scroll(by) {
    const before = this.scrollTop;
    const most = Math.max(0, this.height + RULER_PX + 8 - this.viewHeight);
    this.scrollTop = Math.min(most, Math.max(0, this.scrollTop + by));
    this.redraw();
    return this.scrollTop !== before;
  }

  redraw() {
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => {
      this.isDue = false;
      this.draw();
    });
  }

  draw() {
    const began = performance.now();
    const { context, axis, colour } = this;
    const width = axis.width + this.labels + 8;
    context.font = FONT;
    context.textBaseline = "middle";
    context.fillStyle = colour.panel;
    context.fillRect(0, 0, width, this.viewHeight);
    context.save();
    context.beginPath();
    context.rect(0, RULER_PX, width, this.viewHeight - RULER_PX);
    context.clip();
    context.translate(0, RULER_PX - this.scrollTop);
    const first = firstIndex(this.rows.length, (index) => this.rows[index].top + this.rows[index].height > this.scrollTop);
    this.states = new Map();
    const inView = [];
    for (let index = first; index < this.rows.length && this.rows[index].top < this.scrollTop + this.viewHeight; index++)
      inView.push(this.rows[index]);
    inView.forEach((row) => this.drawLabel(row));
    context.beginPath();
    context.rect(this.labels, 0, axis.width + 8, this.height + this.viewHeight);
    context.clip();
    context.translate(this.labels, 0);
    this.drawGrid();
    inView.forEach((row) => this.drawSpans(row));
    inView.forEach((row) => this.drawMarks(row));
    this.drawSelected();
    context.restore();
    this.drawRuler();
    this.frameMs = performance.now() - began;
  }

  drawLabel({ lane, top, height }) {
    const { context, colour } = this;
    const isHead = lane.kind === "group" || lane.kind === "broker";
    if (lane.index % 2) {
      context.fillStyle = colour.stripe;
      context.fillRect(0, top, this.labels + this.axis.width + 8, height);
    }
    context.font = isHead ? `600 ${FONT}` : FONT;
    context.fillStyle = lane.kind === "client" ? colour.faint : colour.text;
    const prefix = { group: "group ", client: "client ", broker: "", member: "" }[lane.kind];
    context.fillText(this.fitted(prefix + lane.label, this.labels - (isHead ? 20 : 36)), isHead ? 12 : 26, top + height / 2 + 0.5);
    context.font = FONT;
  }

  // As much of the text as there is room for.
  fitted(text, width) {
    if (text.length * 4 < width || this.context.measureText(text).width <= width) return text;
    const count = firstIndex(text.length, (length) => this.context.measureText(`${text.slice(0, length)}…`).width > width) - 1;
    return count > 0 ? `${text.slice(0, count)}…` : "";
  }

  drawGrid() {
    const { context, axis, colour } = this;
    context.fillStyle = colour.line;
    for (const tick of axis.ticks()) context.fillRect(Math.round(axis.x(tick)), this.scrollTop, 1, this.viewHeight);
    context.strokeStyle = colour.time;
    context.setLineDash([4, 4]);
    context.beginPath();
    for (const item of this.moves) {
      const x = Math.round(axis.x(axis.at(item))) + 0.5;
      context.moveTo(x, this.scrollTop);
      context.lineTo(x, this.scrollTop + this.viewHeight);
    }
    context.stroke();
    context.setLineDash([]);
  }

  drawSpans({ lane, top, height }) {
    if (lane.kind === "group") this.drawGroup(lane, top);
    if (lane.kind !== "member") return;
    const states = this.statesInView(this.run.groups.get(lane.group));
    this.eachSpan(lane.spans, (_life, from, to) => {
      this.context.fillStyle = this.colour.line;
      this.context.fillRect(from, top + height / 2 - 1, to - from, 2);
      this.drawBand(states, from, to, top + 9, height - 18);
    });
    this.eachSpan(lane.silences, (_span, from, to) => this.drawSilence(from, to, top + 9, height - 18));
  }

  // The states as a band with their names, below it when there was silence, and why they began, as far as there is room.
  drawGroup(lane, top) {
    const { context, colour, axis } = this;
    const states = this.statesInView(lane);
    this.drawBand(states, -10, axis.width + 10, top + 6, BAND_PX);
    for (const { span, from, to } of states) this.drawName(span, from, to, top + 6);
    context.fillStyle = colour.silent;
    this.eachSpan(lane.silences, (_span, from, to) => context.fillRect(from, top + 7 + BAND_PX, to - from, STRIP_PX));
    const causes = states.filter(({ span }) => span.causes);
    context.fillStyle = colour.faint;
    causes.forEach(({ span, from }, index) => {
      const left = Math.max(from, 0);
      const room = (causes[index + 1]?.from ?? axis.width) - left - 10;
      const text = room > LABEL_PX_MIN && span.causes.find((candidate) => context.measureText(candidate).width <= room);
      if (text) context.fillText(text, left, top + 6 + BAND_PX + 13);
    });
  }

  // A group's states, with where they begin and end. All its members share them, so they are searched once a frame.
  statesInView(group) {
    if (!this.states.has(group)) {
      const found = [];
      this.eachSpan(group.spans, (span, from, to) => found.push({ span, from, to }));
      this.states.set(group, found);
    }
    return this.states.get(group);
  }

  // The part of these states between two points. Neighbours of one colour are drawn as one; what is drawn of a short one
  // stays, so that it can be seen in a long time.
  drawBand(states, left, right, top, height) {
    const { context } = this;
    let [begin, end, tint] = [0, -Infinity, null];
    const flush = () => {
      if (!tint) return;
      context.fillStyle = tint;
      context.fillRect(begin, top, end - begin, height);
    };
    for (const { span, from, to } of states) {
      const [first, last] = [Math.max(Math.round(Math.max(from, left)), end), Math.round(Math.min(to, right))];
      if (last <= first) continue;
      const next = this.tintOf(span);
      if (next !== tint || first > end) {
        flush();
        [begin, tint] = [first, next];
      }
      end = last;
    }
    flush();
  }

  tintOf(span) {
    return span.state === "generation" ? this.colour[span.generation % 2 ? "gen-a" : "gen-b"] : this.colour[span.state];
  }

  drawName(span, from, to, top) {
    const { context, colour, axis } = this;
    const tint = this.tintOf(span);
    if (!tint) {
      context.strokeStyle = colour.faint;
      context.lineWidth = 1;
      context.strokeRect(Math.round(from) + 0.5, top + 0.5, to - from - 1, BAND_PX - 1);
    }
    const [left, room] = [Math.max(from, 0), Math.min(to, axis.width) - Math.max(from, 0) - 12];
    const label = room > LABEL_PX_MIN && span.labels.find((text) => context.measureText(text).width <= room);
    if (!label) return;
    context.fillStyle = span.state === "generation" ? colour["on-band"] : tint ? colour["on-rebalance"] : colour.faint;
    context.fillText(label, left + 6, top + BAND_PX / 2 + 0.5);
  }

  // Calls `draw` with each span in view, its left and its right. Spans follow one another, so the first is searched, and
  // so is the next one that can be seen after one that is too narrow.
  eachSpan(spans, draw) {
    const { axis } = this;
    const ends = (span) => (span.to ? axis.at(span.to) : axis.end);
    let index = firstIndex(spans.length, (at) => ends(spans[at]) >= axis.from);
    while (index < spans.length) {
      const from = axis.x(axis.at(spans[index].from));
      if (from > axis.width) return;
      const to = spans[index].to ? axis.x(ends(spans[index])) : axis.width + 8;
      draw(spans[index], Math.max(from, -10), Math.max(Math.min(to, axis.width + 10), from + SPAN_PX));
      const next = to - from < SPAN_PX ? axis.value(from + SPAN_PX) : null;
      index = next === null ? index + 1 : Math.max(index + 1, firstIndex(spans.length, (at) => ends(spans[at]) > next));
    }
  }

  drawSilence(from, to, top, height) {
    const { context, colour } = this;
    context.save();
    context.beginPath();
    context.rect(from, top, to - from, height);
    context.clip();
    context.fillStyle = colour.panel;
    context.fillRect(from, top, to - from, height);
    context.strokeStyle = colour.silent;
    context.lineWidth = 1.5;
    context.beginPath();
    for (let x = Math.max(from, -10) - height; x < Math.min(to, this.axis.width + 10); x += 6) {
      context.moveTo(x, top + height);
      context.lineTo(x + height, top);
    }
    context.stroke();
    context.strokeRect(from, top, to - from, height);
    context.restore();
  }

  // Of marks that fall on the same few pixels the weightiest is drawn. Those that look the same are drawn at once.
  drawMarks({ lane, top, height }) {
    const { axis } = this;
    const y = lane.kind === "group" ? top + 6 + BAND_PX : top + height / 2;
    const looks = new Map();
    const marks = this.marks(lane, axis);
    for (const [item, x] of marks) {
      const look = lookOf(item);
      if (!looks.has(look)) looks.set(look, []);
      looks.get(look).push(x);
    }
    for (const [look, places] of looks) this.drawLook(look, places, y, marks.length < OUTLINED_MAX);
  }

  marks({ items }, axis) {
    const found = [];
    let last = null;
    for (let index = firstIndex(items.length, (at) => axis.values[items[at].order] >= axis.from); index < items.length; index++) {
      const item = items[index];
      const value = axis.values[item.order];
      if (value > axis.to) break;
      if (!item.isShown) continue;
      const x = MARK_PX * Math.round(axis.x(value) / MARK_PX);
      if (!last || x !== last[1]) found.push((last = [item, x]));
      else if (weightOf(item) > weightOf(last[0])) last[0] = item;
    }
    return found;
  }

  drawLook(look, places, y, isOutlined) {
    const { context, colour } = this;
    context.fillStyle = colour[look.colour];
    context.strokeStyle = colour.panel;
    context.lineWidth = 1.5;
    if (look.name === "tick") {
      for (const x of places) context.fillRect(x - 1, y - look.size, 2, 2 * look.size);
      return;
    }
    context.beginPath();
    for (const x of places) {
      if (look.name === "dot") {
        context.moveTo(x + look.size, y);
        context.arc(x, y, look.size, 0, 7);
      } else polygon(context, x, y, look.points);
    }
    context.fill();
    if (!isOutlined) return;
    context.stroke();
    if (look.name !== "out") return;
    context.beginPath();
    for (const x of places) {
      context.moveTo(x - 3, y - 3);
      context.lineTo(x + 3, y + 3);
      context.moveTo(x + 3, y - 3);
      context.lineTo(x - 3, y + 3);
    }
    context.stroke();
  }

  drawSelected() {
    if (!this.selected) return;
    const { context, axis, colour } = this;
    const x = Math.round(axis.x(axis.at(this.selected)));
    context.fillStyle = colour.accent;
    context.fillRect(x - 0.5, this.scrollTop, 1, this.viewHeight);
    const row = this.rows.find((candidate) => candidate.lane === this.selected.lane);
    if (!row) return;
    context.strokeStyle = colour.accent;
    context.lineWidth = 2;
    context.beginPath();
    context.arc(x, row.lane.kind === "group" ? row.top + 6 + BAND_PX : row.top + row.height / 2, 10, 0, 7);
    context.stroke();
  }

  // Times; by steps, the times of what stands there.
  drawRuler() {
    const { context, axis, colour } = this;
    context.fillStyle = colour.panel;
    context.fillRect(0, 0, axis.width + this.labels + 8, RULER_PX);
    context.fillStyle = colour.faint;
    const words = { real: ["real time", ""], broker: ["broker's time", ""], date: ["UTC", ""], order: ["step by step", "real · broker's time"] }[axis.mode];
    context.fillText(words[0], 12, 13);
    context.fillText(words[1], 12, 29);
    context.save();
    context.beginPath();
    context.rect(this.labels, 0, axis.width + 8, RULER_PX);
    context.clip();
    context.translate(this.labels, 0);
    for (const tick of axis.ticks()) {
      const x = Math.round(axis.x(tick));
      context.fillStyle = colour.line;
      context.fillRect(x, RULER_PX - 14, 1, 14);
      context.fillStyle = colour.faint;
      context.fillText(axis.tickText(tick), x + 4, 29);
    }
    this.drawMoves();
    context.restore();
    context.fillStyle = colour.line;
    context.fillRect(0, RULER_PX - 1, axis.width + this.labels + 8, 1);
  }

  // How far time was moved: the longest moves first, others where there is room.
  drawMoves() {
    const { context, axis } = this;
    const taken = [];
    context.fillStyle = this.colour.time;
    for (const item of this.movesBySize) {
      const x = axis.x(axis.at(item));
      if (x < 0 || x > axis.width + 8) continue;
      const text = `time +${span(item.details.ms)}`;
      const width = context.measureText(text).width;
      const left = Math.max(2, x - width - 4);
      if (taken.some((other) => left < other + width + 8 && other < left + width + 8)) continue;
      context.fillText(text, left, 11);
      taken.push(left);
      if (taken.length > MOVES_NAMED_MAX) return;
    }
  }

  reveal(item) {
    const row = this.rows.find((candidate) => candidate.lane === item.lane);
    if (row && row.top < this.scrollTop) this.scrollTop = row.top;
    if (row && row.top + row.height > this.scrollTop + this.viewHeight - RULER_PX) this.scrollTop = row.top + row.height - this.viewHeight + RULER_PX + 8;
    this.axis.reveal(item);
    this.redraw();
  }
}
