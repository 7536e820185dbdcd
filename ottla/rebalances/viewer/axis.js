// Time from left to right: which piece of it is in view, and where its ticks stand. Milliseconds since the first line.

const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 9e5, 18e5, 36e5, 72e5, 108e5, 216e5, 432e5, 864e5];

class Axis {
  constructor(span) {
    this.span = Math.max(1, span);
    this.fit();
  }

  fit() {
    const margin = this.span * 0.01;
    this.show(-margin, this.span + margin);
  }

  show(from, to) {
    this.from = from;
    this.to = Math.max(to, from + 2);
  }

  // Around this instant, which stays where it is.
  zoom(factor, at = (this.from + this.to) / 2) {
    this.show(at - (at - this.from) * factor, at + (this.to - at) * factor);
  }

  pan(by) {
    this.show(this.from + by, this.to + by);
  }

  x(at, width) {
    return ((at - this.from) / (this.to - this.from)) * width;
  }

  at(x, width) {
    return this.from + (x / width) * (this.to - this.from);
  }

  // As many as have room, at round times of the day.
  ticks(zero, width) {
    const room = (this.to - this.from) / Math.max(2, Math.floor(width / 110));
    const days = Math.ceil(room / 864e5) * 864e5;
    const step = STEPS.find((one) => one >= room) ?? days;
    const found = [];
    for (let at = Math.ceil((zero + this.from) / step) * step - zero; at <= this.to; at += step) found.push({ at, text: clock(zero + at, step) });
    return found;
  }
}

function clock(time, step) {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return `${time}`;
  const text = date.toISOString();
  if (step >= 864e5) return text.slice(0, 10);
  return step >= 6e4 ? text.slice(11, 16) : step >= 1e3 ? text.slice(11, 19) : text.slice(11, 23);
}
