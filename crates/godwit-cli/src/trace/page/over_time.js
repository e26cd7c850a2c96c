// Addresses over time: a band for each structure, with the structure's start at the top and its end at the bottom.

(function overTime() {
  const points = data.points;
  const shown = new Array(structures.name.length).fill(true);
  const names = structures.name.map((name, number) => {
    const kind = structures.kind[number];
    return name.endsWith(kind) ? short(name) : `${short(name)} · ${kind}`;
  });
  let bands = [];
  let thread = "all";

  function layOut() {
    const byBytes = byId("band-heights").value === "bytes";
    let from = 0;
    bands = structures.name.map((_, number) => {
      const height = shown[number] ? (byBytes ? structures.bytes[number] : 1) : 0;
      const band = { from, height };
      from += height;
      return band;
    });
    return {
      x: { low: 0, high: Math.max(micros, 1), title: "time since the trace began", format: duration },
      y: { low: 0, high: Math.max(from, 1e-9), down: true },
    };
  }

  function margins(plot) {
    return plot.width < 640 ? { left: 4, right: 4, top: 4, bottom: 40 } : { left: 224, right: 8, top: 4, bottom: 40 };
  }

  function placeOf(index) {
    const structure = points.structure[index];
    const band = bands[structure];
    const share = points.position[index] / structures.bytes[structure];
    return band.from + Math.min(share, 1) * band.height;
  }

  function isSeen(index) {
    return (thread === "all" || points.thread[index] === thread) && shown[points.structure[index]];
  }

  function draw(plot, context) {
    const { left, top, width, height } = plot.box;
    const colors = structures.name.map((_, number) => colorOf(number));
    const size = points.micros.length > 20000 ? 1.6 : 2.4;
    const [from, to] = plot.view.x;
    context.globalAlpha = 0.62;
    for (let index = 0; index < points.micros.length; index += 1) {
      const time = points.micros[index];
      if (time < from || time > to || !isSeen(index)) continue;
      const y = plot.y(placeOf(index));
      if (y < top || y > top + height) continue;
      context.fillStyle = colors[points.structure[index]];
      context.fillRect(plot.x(time) - size / 2, y - size / 2, size, size);
    }
    context.globalAlpha = 1;
    bands.forEach((band, number) => drawEdge(plot, context, band, number));
    plot.labels = { left, width };
  }

  function drawEdge(plot, context, band, number) {
    const { left, top, width, height } = plot.box;
    if (!band.height) return;
    const upper = Math.max(top, plot.y(band.from));
    const lower = Math.min(top + height, plot.y(band.from + band.height));
    if (lower <= top || upper >= top + height) return;
    context.strokeStyle = style("--line");
    line(context, left, lower, left + width, lower);
    if (width + left > 640) drawOffsets(plot, context, band, number, upper, lower);
    else drawInnerLabel(context, number, left, upper, lower, width);
  }

  // On narrow screens, names are drawn inside the bands.
  function drawInnerLabel(context, number, left, upper, lower, width) {
    if (lower - upper < 15) return;
    const text = fitted(context, names[number], width - 14);
    context.fillStyle = style("--card");
    context.globalAlpha = 0.82;
    context.fillRect(left + 2, upper + 2, context.measureText(text).width + 8, 15);
    context.globalAlpha = 1;
    context.fillStyle = colorOf(number);
    context.textAlign = "left";
    context.textBaseline = "top";
    context.fillText(text, left + 6, upper + 3);
  }

  // Draws distances from the structure's start, if a band is high enough.
  function drawOffsets(plot, context, band, number, upper, lower) {
    if (lower - upper < 70) return;
    const size = structures.bytes[number];
    const offsetAt = (pixel) => ((plot.valueAt(0, pixel)[1] - band.from) / band.height) * size;
    context.fillStyle = style("--soft");
    context.textAlign = "left";
    context.textBaseline = "middle";
    for (const at of ticks(offsetAt(upper), offsetAt(lower), (lower - upper) / 40, 2)) {
      const pixel = plot.y(band.from + (at / size) * band.height);
      if (pixel > upper + 8 && pixel < lower - 8) context.fillText(bytes(at), plot.box.left + 4, pixel);
    }
  }

  // Draws names to the left of wide pictures, outside the clipped part.
  function drawNames(plot) {
    const { left, top, height } = plot.box;
    if (left < 100) return;
    const context = plot.canvas.getContext("2d");
    context.textAlign = "right";
    context.textBaseline = "middle";
    bands.forEach((band, number) => {
      const upper = Math.max(top, plot.y(band.from));
      const lower = Math.min(top + height, plot.y(band.from + band.height));
      if (!band.height || lower - upper < 11) return;
      const middle = (upper + lower) / 2;
      context.fillStyle = colorOf(number);
      context.fillRect(left - 8, upper + 1, 4, lower - upper - 2);
      context.fillStyle = style("--ink");
      const isHigh = lower - upper >= 30;
      context.fillText(fitted(context, short(structures.name[number]), left - 18), left - 14, middle - (isHigh ? 7 : 0));
      if (!isHigh) return;
      context.fillStyle = style("--soft");
      context.fillText(`${structures.kind[number]}, ${bytes(structures.bytes[number])}`, left - 14, middle + 8);
    });
  }

  function tell(plot, pixelX, pixelY) {
    let nearest = -1;
    let distance = 100;
    const [low] = plot.valueAt(pixelX - 10, pixelY);
    const [high] = plot.valueAt(pixelX + 10, pixelY);
    for (let index = 0; index < points.micros.length; index += 1) {
      if (points.micros[index] < low || points.micros[index] > high || !isSeen(index)) continue;
      const away = (plot.x(points.micros[index]) - pixelX) ** 2 + (plot.y(placeOf(index)) - pixelY) ** 2;
      if (away < distance) [nearest, distance] = [index, away];
    }
    if (nearest < 0) return null;
    const structure = points.structure[nearest];
    const entry = points.entry[nearest];
    const of = entry === null ? "" : `\n${structures.kind[structure] === "segment" ? "row" : "entry"} ${count(entry)}`;
    return `${names[structure]}\n${bytes(points.position[nearest])} from its beginning${of}\n${duration(points.micros[nearest])}, thread ${points.thread[nearest]}`;
  }

  const host = byId("time-plot");
  host.style.minHeight = `${Math.min(1400, 24 * structures.name.length)}px`;
  const plot = new Plot(
    host, "Addresses that were read, over time, a band for each structure.", layOut(), margins, draw, tell,
  );
  const drawAll = plot.draw.bind(plot);
  plot.draw = () => {
    drawAll();
    if (plot.width) drawNames(plot);
  };

  byId("band-heights").addEventListener("change", () => plot.setAxes(layOut()));
  const threads = [...new Set(points.thread)].sort((a, b) => a - b);
  byId("thread").append(
    element("option", { value: "all" }, threads.length === 1 ? "the only one" : `all ${threads.length}`),
    ...threads.map((number) => element("option", { value: String(number) }, `thread ${number}`)),
  );
  byId("thread").addEventListener("change", (event) => {
    thread = event.target.value === "all" ? "all" : Number(event.target.value);
    plot.redraw();
  });
  byId("legend").append(...structures.name.map((_, number) => {
    const button = element("button", { type: "button" }, swatch(number), names[number]);
    button.setAttribute("aria-pressed", "true");
    button.addEventListener("click", () => {
      shown[number] = !shown[number];
      button.setAttribute("aria-pressed", String(shown[number]));
      plot.setAxes(layOut());
    });
    return button;
  }));
  const drawn = points.micros.length;
  const hidden = counts.structures - structures.name.length;
  byId("time-note").textContent =
    (drawn < counts.shown ? `${count(drawn)} of ${count(counts.shown)} samples are drawn, chosen by chance. ` : "") +
    (hidden > 0 ? `The ${structures.name.length} most read structures are shown, ${count(hidden)} others aren't. ` : "") +
    "Click the picture, then turn the wheel to zoom, with Shift in time only; drag to move. " +
    "With the keyboard: arrows, +, −, 0. Buttons above it hide and show structures.";
})();
