// The list of what happened. Only the rows in view are elements, so a long list costs no more.

const LINE_PX = 26;
const SPARE_ROWS = 8;

class List {
  constructor(box, onSelect) {
    this.box = box;
    this.onSelect = onSelect;
    this.items = [];
    this.selected = null;
    this.inside = make("div", { class: "lines" });
    box.append(this.inside);
    box.addEventListener("scroll", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(box);
    box.addEventListener("keydown", (event) => this.press(event));
    this.inside.addEventListener("click", (event) => {
      const line = event.target.closest(".line");
      if (line) this.onSelect(this.items[Number(line.dataset.index)]);
    });
  }

  show(items) {
    this.items = items;
    this.inside.style.height = `${items.length * LINE_PX}px`;
    this.drawn = null;
    this.draw();
  }

  indexOf(item) {
    const index = firstIndex(this.items.length, (at) => this.items[at].order >= item.order);
    return this.items[index] === item ? index : -1;
  }

  select(item) {
    this.selected = item;
    const index = item ? this.indexOf(item) : -1;
    if (index >= 0) {
      const top = index * LINE_PX;
      if (top < this.box.scrollTop) this.box.scrollTop = top;
      const bottom = top + LINE_PX - this.box.clientHeight;
      if (bottom > this.box.scrollTop) this.box.scrollTop = bottom;
    }
    this.drawn = null;
    this.draw();
  }

  draw() {
    const first = Math.max(0, Math.floor(this.box.scrollTop / LINE_PX) - SPARE_ROWS);
    const last = Math.min(this.items.length, Math.ceil((this.box.scrollTop + this.box.clientHeight) / LINE_PX) + SPARE_ROWS);
    if (this.drawn === `${first} ${last}`) return;
    this.drawn = `${first} ${last}`;
    const lines = [];
    for (let index = first; index < last; index++) lines.push(this.line(this.items[index], index));
    this.inside.replaceChildren(...lines);
    const has = this.selected && this.indexOf(this.selected) >= 0;
    if (has) this.box.setAttribute("aria-activedescendant", `line-${this.selected.order}`);
    else this.box.removeAttribute("aria-activedescendant");
  }

  line(item, index) {
    const isSelected = item === this.selected;
    const line = make(
      "div",
      { class: `line of-${item.category}${item.isBad ? " bad" : ""}`, role: "option", id: `line-${item.order}`, "aria-selected": String(isSelected), "data-index": index },
      make("span", { class: "number" }, seconds(item.real_ms)),
      make("span", { class: "number" }, seconds(item.broker_ms)),
      make("span", { class: "name" }, item.group_id ?? ""),
      make("span", { class: "name" }, item.member_id ? shortened(item.member_id) : item.client_id ?? item.details?.client_id ?? ""),
      make("span", { class: "what" }, item.node_id && isEvent(item) ? `node ${item.node_id}: ${item.text}` : item.text),
    );
    line.style.transform = `translateY(${index * LINE_PX}px)`;
    return line;
  }

  press(event) {
    const page = Math.max(1, Math.floor(this.box.clientHeight / LINE_PX) - 1);
    const at = this.selected ? this.indexOf(this.selected) : -1;
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: this.items.length - 1 }[event.key];
    if (next === undefined || !this.items.length) return;
    event.preventDefault();
    this.onSelect(this.items[Math.min(this.items.length - 1, Math.max(0, next))]);
  }
}
