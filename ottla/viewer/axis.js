// Where things are from left to right: by real time, by the broker's, by the date, or one step for each item shown.
//
// `value` is a place in time (milliseconds) or a number of steps; `x` is a place on the screen (pixels).

const STEPS = [1, 2, 5];
// Round times: what a step above a second is.
const TIMES = [1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 9e5, 18e5, 36e5, 72e5, 108e5, 216e5, 432e5, 864e5];
const EMPTY_SHARE = 0.02;

class Axis {
  // run.zero_ms: the date at 0; run.span_ms: the end, if it is not the last item's.
  constructor(run, mode, width) {
    this.run = run;
    this.mode = mode;
    this.width = width;
    this.values = new Float64Array(run.items.length);
    this.refresh();
    this.fit();
  }

  // To be called when other items are shown.
  refresh() {
    let value = 0;
    const key = this.mode === "real" ? "real_ms" : "broker_ms";
    for (const item of this.run.items) {
      if (this.mode === "order") value += item.isShown ? 1 : 0;
      else value = Math.max(value, item[key] ?? value);
      this.values[item.order] = value;
    }
    this.end = this.run.span_ms ?? (value || 1);
    this.begin = this.mode === "order" ? 1 : this.run.span_ms === undefined ? this.values[0] ?? 0 : 0;
    this.length = Math.max(this.end - this.begin, 1e-3);
  }

  fit() {
    this.show(-Infinity, Infinity);
  }

  // As much of it as there is, and some room beside it; no less than can be told apart.
  show(from, to) {
    const room = this.length * EMPTY_SHARE;
    const whole = this.length + 2 * room;
    const length = Math.min(whole, Math.max(to - from, Math.min(this.mode === "order" ? 4 : 0.02, whole)));
    this.from = Math.max(Math.min(from, this.end + room - length), this.begin - room);
    this.to = this.from + length;
  }

  at(point) {
    return this.mode === "broker" || this.mode === "date" ? point.broker_ms : this.values[point.order];
  }

  x(value) {
    return ((value - this.from) / (this.to - this.from)) * this.width;
  }

  value(x) {
    return this.from + (x / this.width) * (this.to - this.from);
  }

  // Around this x, which stays where it is.
  zoom(factor, x = this.width / 2) {
    const fixed = this.value(x);
    const whole = this.length * (1 + 2 * EMPTY_SHARE);
    const length = Math.min(whole, (this.to - this.from) * factor);
    const from = fixed - (x / this.width) * length;
    this.show(from, from + length);
  }

  pan(pixels) {
    const by = (pixels / this.width) * (this.to - this.from);
    this.show(this.from + by, this.to + by);
  }

  reveal(point) {
    const x = this.x(this.at(point));
    if (x < this.width * 0.05 || x > this.width * 0.95) this.pan(x - this.width / 2);
  }

  // Round values in view, about `pixels` apart.
  ticks(pixels = 120) {
    const wanted = ((this.to - this.from) * pixels) / this.width;
    const power = 10 ** Math.floor(Math.log10(wanted));
    let step = power * (STEPS.find((candidate) => candidate * power >= wanted) ?? 10);
    if (this.mode === "order") step = Math.max(1, Math.round(step));
    else if (wanted > 500) step = TIMES.find((candidate) => candidate >= wanted) ?? Math.ceil(wanted / 864e5) * 864e5;
    const zero = this.mode === "date" ? this.run.zero_ms : 0;
    const ticks = [];
    for (let tick = Math.ceil((zero + this.from) / step) * step - zero; tick <= this.to; tick += step) if (tick >= 0 || zero) ticks.push(tick);
    this.step = step;
    return ticks;
  }

  tickText(tick) {
    if (this.mode === "date") return clock(this.run.zero_ms + tick, this.step);
    if (this.mode !== "order") return span(tick) || "0";
    const item = this.itemBefore(tick);
    if (!item) return "";
    return item.real_ms === null ? span(item.broker_ms) : `${span(item.real_ms)} · ${span(item.broker_ms)}`;
  }

  // The item that is there or was last before it.
  itemBefore(value) {
    const index = firstIndex(this.values.length, (order) => this.values[order] > value) - 1;
    return this.run.items[Math.max(index, 0)];
  }
}

// A date in UTC, as far as ticks so many milliseconds apart need it.
function clock(ms, step) {
  const date = new Date(ms);
  if (Number.isNaN(date.getTime())) return `${ms}`;
  const text = date.toISOString();
  return step >= 864e5 ? text.slice(0, 10) : text.slice(11, step >= 6e4 ? 16 : step >= 1e3 ? 19 : 23);
}
