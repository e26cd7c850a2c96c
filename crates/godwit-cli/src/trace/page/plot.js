// A picture with axes on a canvas, which can be zoomed and panned by wheel, mouse, touch, keys and buttons.
//
// `axes.x` and `axes.y` are { low, high, title, format, base }; an axis with `fixed` isn't zoomed. `draw(plot,
// context)` draws the visible part, `tell(plot, x, y)` returns text describing a position, or nothing.

const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif';
const ZOOM_STEP = 1.6;
const PAN_STEP = 0.15;
const ZOOM_MOST = 20000;
const tip = byId("tip");
const plots = [];

class Plot {
  constructor(host, label, axes, margins, draw, tell) {
    Object.assign(this, { host, axes, margins, drawContent: draw, tell });
    this.canvas = element("canvas", { tabIndex: 0 });
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", `${label} Arrow keys move, + and − zoom, 0 shows all.`);
    host.append(this.canvas);
    this.pointers = new Map();
    this.reset(false);
    this.listen();
    const tools = host.parentElement.querySelector("[data-zoom]");
    if (tools) this.addButtons(tools);
    new ResizeObserver(() => this.redraw()).observe(host);
    plots.push(this);
  }

  addButtons(tools) {
    const button = (text, what, act) => {
      const made = element("button", { type: "button", title: what }, text);
      made.setAttribute("aria-label", what);
      made.addEventListener("click", act);
      return made;
    };
    tools.append(
      button("+", "Zoom in", () => this.zoom(ZOOM_STEP)),
      button("−", "Zoom out", () => this.zoom(1 / ZOOM_STEP)),
      button("All", "Show all", () => this.reset()),
    );
  }

  setAxes(axes) {
    this.axes = axes;
    this.reset();
  }

  reset(redraw = true) {
    const { x, y } = this.axes;
    this.view = { x: [x.low, x.high], y: [y.low, y.high] };
    if (redraw) this.redraw();
  }

  // Area of the content, in pixels.
  get box() {
    const { left, right, top, bottom } = typeof this.margins === "function" ? this.margins(this) : this.margins;
    return { left, top, width: Math.max(1, this.width - left - right), height: Math.max(1, this.height - top - bottom) };
  }

  x(value) {
    const [low, high] = this.view.x;
    const { left, width } = this.box;
    return left + ((value - low) / (high - low)) * width;
  }

  // Upwards, unless the axis points down.
  y(value) {
    const [low, high] = this.view.y;
    const { top, height } = this.box;
    const share = (value - low) / (high - low);
    return top + (this.axes.y.down ? share : 1 - share) * height;
  }

  valueAt(pixelX, pixelY) {
    const { left, top, width, height } = this.box;
    const down = (pixelY - top) / height;
    const along = (view, share) => view[0] + share * (view[1] - view[0]);
    return [along(this.view.x, (pixelX - left) / width), along(this.view.y, this.axes.y.down ? down : 1 - down)];
  }

  isInside(pixelX, pixelY) {
    const { left, top, width, height } = this.box;
    return pixelX >= left && pixelX <= left + width && pixelY >= top && pixelY <= top + height;
  }

  zoom(factor, pixelX, pixelY, only) {
    const { left, top, width, height } = this.box;
    const [atX, atY] = this.valueAt(pixelX ?? left + width / 2, pixelY ?? top + height / 2);
    if (only !== "y") this.zoomAxis("x", factor, atX);
    if (only !== "x") this.zoomAxis("y", factor, atY);
    this.redraw();
  }

  zoomAxis(name, factor, at) {
    const { low, high, fixed } = this.axes[name];
    if (fixed) return;
    const [from, to] = this.view[name];
    const span = Math.min(high - low, Math.max((high - low) / ZOOM_MOST, (to - from) / factor));
    this.show(name, at - ((at - from) / (to - from)) * span, span);
  }

  pan(shareX, shareY) {
    for (const [name, share] of [["x", shareX], ["y", shareY]]) {
      const [from, to] = this.view[name];
      if (!this.axes[name].fixed) this.show(name, from + share * (to - from), to - from);
    }
    this.redraw();
  }

  show(name, from, span) {
    const { low, high } = this.axes[name];
    const begin = Math.max(low, Math.min(high - span, from));
    this.view[name] = [begin, begin + span];
  }

  listen() {
    const place = (event) => {
      const frame = this.canvas.getBoundingClientRect();
      return [event.clientX - frame.left, event.clientY - frame.top];
    };
    this.canvas.addEventListener("wheel", (event) => {
      // Without focus, the wheel scrolls the page.
      if (document.activeElement !== this.canvas && !event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(event.deltaY < 0 ? 1.25 : 0.8, ...place(event), event.shiftKey ? "x" : undefined);
    }, { passive: false });
    this.canvas.addEventListener("dblclick", (event) => this.zoom(2, ...place(event)));
    this.canvas.addEventListener("pointerdown", (event) => {
      this.pointers.set(event.pointerId, place(event));
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", (event) => this.moved(event, place(event)));
    for (const name of ["pointerup", "pointercancel"]) {
      this.canvas.addEventListener(name, (event) => this.pointers.delete(event.pointerId));
    }
    this.canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
    this.canvas.addEventListener("keydown", (event) => this.key(event));
  }

  moved(event, [pixelX, pixelY]) {
    const before = this.pointers.get(event.pointerId);
    if (!before) {
      this.point(event.clientX, event.clientY, pixelX, pixelY);
      return;
    }
    const { width, height } = this.box;
    const others = [...this.pointers].filter(([id]) => id !== event.pointerId);
    this.pointers.set(event.pointerId, [pixelX, pixelY]);
    tip.hidden = true;
    if (others.length > 0) {
      const [otherX, otherY] = others[0][1];
      const distance = ([x, y]) => Math.hypot(x - otherX, y - otherY) + 1;
      this.zoom(distance([pixelX, pixelY]) / distance(before), (pixelX + otherX) / 2, (pixelY + otherY) / 2);
    } else {
      const up = this.axes.y.down ? -1 : 1;
      this.pan((before[0] - pixelX) / width, (up * (pixelY - before[1])) / height);
    }
  }

  point(clientX, clientY, pixelX, pixelY) {
    const text = this.isInside(pixelX, pixelY) ? this.tell(this, pixelX, pixelY) : null;
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(clientX + 14, innerWidth - width - 8))}px`;
    tip.style.top = `${clientY + 16 + height > innerHeight ? clientY - height - 12 : clientY + 16}px`;
  }

  key(event) {
    const up = this.axes.y.down ? -1 : 1;
    const acts = {
      ArrowLeft: () => this.pan(-PAN_STEP, 0),
      ArrowRight: () => this.pan(PAN_STEP, 0),
      ArrowUp: () => this.pan(0, up * PAN_STEP),
      ArrowDown: () => this.pan(0, -up * PAN_STEP),
      "+": () => this.zoom(ZOOM_STEP),
      "=": () => this.zoom(ZOOM_STEP),
      "-": () => this.zoom(1 / ZOOM_STEP),
      0: () => this.reset(),
    };
    if (!acts[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    acts[event.key]();
  }

  redraw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  draw() {
    const sharpness = devicePixelRatio || 1;
    this.width = this.host.clientWidth;
    this.height = this.host.clientHeight;
    if (!this.width || !this.height) return;
    this.canvas.width = Math.round(this.width * sharpness);
    this.canvas.height = Math.round(this.height * sharpness);
    const context = this.canvas.getContext("2d");
    context.scale(sharpness, sharpness);
    context.font = FONT;
    const { left, top, width, height } = this.box;
    this.drawGrid(context);
    context.save();
    context.beginPath();
    context.rect(left, top, width, height);
    context.clip();
    this.drawContent(this, context);
    context.restore();
    context.strokeStyle = style("--line");
    context.strokeRect(left + 0.5, top + 0.5, width - 1, height - 1);
  }

  drawGrid(context) {
    const { left, top, width, height } = this.box;
    const { x, y } = this.axes;
    context.fillStyle = style("--soft");
    context.strokeStyle = style("--grid");
    context.textAlign = "center";
    context.textBaseline = "top";
    for (const at of ticks(...this.view.x, width / 90, x.base)) {
      const pixel = this.x(at);
      line(context, pixel, top, pixel, top + height);
      context.fillText(x.format(at), Math.max(left + 14, Math.min(left + width - 20, pixel)), top + height + 5);
    }
    context.fillText(x.title, left + width / 2, top + height + 21);
    if (!y.format) return;
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const at of ticks(...this.view.y, height / 45, y.base)) {
      const pixel = this.y(at);
      line(context, left, pixel, left + width, pixel);
      context.fillText(y.format(at), left - 6, pixel);
    }
    context.save();
    context.translate(11, top + height / 2);
    context.rotate(-Math.PI / 2);
    context.textAlign = "center";
    context.fillText(y.title, 0, 0);
    context.restore();
  }
}

function line(context, fromX, fromY, toX, toY) {
  context.beginPath();
  context.moveTo(fromX, fromY);
  context.lineTo(toX, toY);
  context.stroke();
}

// Truncates text to fit.
function fitted(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let kept = text.length;
  while (kept > 1 && context.measureText(`…${text.slice(-kept)}`).width > width) kept -= 1;
  return `…${text.slice(-kept)}`;
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => plots.forEach((plot) => plot.redraw()));
addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });
