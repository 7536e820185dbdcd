// Where things are from left to right: by real time, by the broker's, or one step for each item that is shown.

const STEPS = [1, 2, 5];
const EMPTY_SHARE = 0.02;

class Axis {
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
    this.end = value || 1;
    this.begin = this.mode === "order" ? 1 : this.values[0] ?? 0;
  }

  fit() {
    const room = Math.max(this.end - this.begin, 1e-3) * EMPTY_SHARE;
    this.from = this.begin - room;
    this.to = this.end + room;
  }

  at(point) {
    if (this.mode === "broker") return point.broker_ms;
    return this.values[point.order];
  }

  x(value) {
    return ((value - this.from) / (this.to - this.from)) * this.width;
  }

  value(x) {
    return this.from + (x / this.width) * (this.to - this.from);
  }

  zoom(factor, x = this.width / 2) {
    const fixed = this.value(x);
    const whole = (this.end - this.begin || 1) * (1 + 2 * EMPTY_SHARE);
    const least = this.mode === "order" ? 4 : 0.02;
    const length = Math.min(Math.max((this.to - this.from) * factor, Math.min(least, whole)), whole);
    this.from = fixed - (x / this.width) * length;
    this.to = this.from + length;
    this.clamp();
  }

  pan(pixels) {
    const by = (pixels / this.width) * (this.to - this.from);
    this.from += by;
    this.to += by;
    this.clamp();
  }

  clamp() {
    const length = this.to - this.from;
    const room = Math.max(this.end - this.begin, 1e-3) * EMPTY_SHARE;
    this.from = Math.max(Math.min(this.from, this.end + room - length), this.begin - room);
    this.to = this.from + length;
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
    const ticks = [];
    for (let tick = Math.ceil(this.from / step) * step; tick <= this.to; tick += step) if (tick >= 0) ticks.push(tick);
    return ticks;
  }

  // The item that is there or was last before it.
  itemBefore(value) {
    const index = firstIndex(this.values.length, (order) => this.values[order] > value) - 1;
    return this.run.items[Math.max(index, 0)];
  }
}
