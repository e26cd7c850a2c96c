// Memory requirements: the working set, volume by column, and ranges of rows.

(function workingSet() {
  const curve = rowsOf(data.curve);
  const points = rowsOf(data.working_set);
  const scopes = [...new Set(points.map((point) => point.scope))].sort((a, b) => (a === "tables" ? -1 : 1) - (b === "tables" ? -1 : 1));
  if (!scopes.length) {
    byId("working-set").hidden = true;
    return;
  }
  const titles = { tables: "tables", everything: "tables and queries" };
  byId("working-set-scope").append(...scopes.map((scope) => element("option", { value: scope }, titles[scope] ?? scope)));
  const scope = () => byId("working-set-scope").value;
  const own = (rows) => rows.filter((row) => row.scope === scope());
  const suggested = () => own(points).find((point) => point.point === "suggested buffer");
  const hasKnee = () => own(points).some((point) => point.point === "knee");
  const whole = () => own(curve).at(-1)?.bytes || 1;

  function axes() {
    return {
      x: { low: 0, high: whole() * 1.02, title: "memory for the most read pages", format: bytes, base: 2 },
      y: { low: 0, high: 1.04, title: "share of accesses", format: percent, fixed: true },
    };
  }

  function draw(plot, context) {
    context.beginPath();
    context.moveTo(plot.x(0), plot.y(0));
    for (const row of own(curve)) context.lineTo(plot.x(row.bytes), plot.y(row.share));
    context.strokeStyle = style("--accent");
    context.lineWidth = 2;
    context.stroke();
    context.lineTo(plot.x(whole()), plot.y(0));
    context.closePath();
    context.globalAlpha = 0.12;
    context.fillStyle = style("--accent");
    context.fill();
    context.globalAlpha = 1;
    context.lineWidth = 1;
    const { bytes: size, share } = suggested();
    context.strokeStyle = context.fillStyle = style("--mark");
    context.setLineDash([4, 4]);
    line(context, plot.x(size), plot.y(0), plot.x(size), plot.y(share));
    context.setLineDash([]);
    context.beginPath();
    context.arc(plot.x(size), plot.y(share), 5, 0, 2 * Math.PI);
    context.fill();
    const text = `${bytes(size)} for ${percent(share)} of accesses`;
    const isRight = plot.x(size) + context.measureText(text).width + 20 > plot.width;
    context.textAlign = isRight ? "right" : "left";
    context.textBaseline = "top";
    context.fillText(text, plot.x(size) + (isRight ? -10 : 10), plot.y(share) + 8);
  }

  function tell(plot, pixelX) {
    const size = plot.valueAt(pixelX, 0)[0];
    let before = { bytes: 0, share: 0 };
    for (const row of own(curve)) {
      if (row.bytes >= size) {
        const share = before.share + ((row.share - before.share) * (size - before.bytes)) / (row.bytes - before.bytes || 1);
        return `${bytes(Math.max(0, size))} hold ${percent(Math.max(0, share))} of accesses\npages here are read ${shortCount(row.accesses)} times each`;
      }
      before = row;
    }
    return `everything that was read takes ${bytes(whole())}`;
  }

  const plot = new Plot(
    byId("working-set-plot"), "Share of accesses that the most read pages get, by their bytes.", axes(),
    { left: 62, right: 8, top: 6, bottom: 40 }, draw, tell,
  );

  function fill() {
    const { bytes: size, share } = suggested();
    byId("working-set-says").textContent = hasKnee()
      ? `A buffer of ${bytes(size)} would hold pages that get ${percent(share)} of accesses, of ${bytes(whole())} that were read: that is the knee of the curve, after which more memory helps ever less.`
      : `Memory is read evenly: there is no knee. A buffer of ${bytes(size)} would hold pages that get ${percent(share)} of accesses.`;
    const rows = own(points).filter((point) => point.point !== "knee");
    fillTable(byId("working-set-table"), [
      ["Pages that get", "", (row) => (row.point === "suggested buffer" ? `suggested: ${percent(row.share)}` : row.point)],
      ["take", "number", (row) => bytes(row.bytes)],
      ["of what was read", "number", (row) => percent(row.bytes / whole())],
      ["the last of them is read", "number optional", (row) => `${shortCount(row.accesses)} times`],
      ["", "bar optional", (row) => bar(row.bytes / whole())],
    ], rows, (row) => row.point === "suggested buffer");
    plot.setAxes(axes());
  }

  byId("working-set-scope").addEventListener("change", fill);
  fill();
})();

(function columns() {
  const rows = rowsOf(data.columns);
  if (!rows.length) {
    byId("columns").hidden = true;
    return;
  }
  const most = Math.max(...rows.map((row) => row.volume), 1);
  fillTable(byId("columns-table"), [
    ["Column", "name", (row) => breakable(short(row.table === null ? row.column : `${row.table}.${row.column}`))],
    ["Kind", "", (row) => row.kind],
    ["Accesses", "number optional", (row) => shortCount(row.accesses)],
    ["Volume", "number", (row) => bytes(row.volume)],
    ["", "bar optional", (row) => bar(row.volume / most)],
    ["Read of it", "number", (row) => percent(row.touched / (row.bytes || 1))],
    ["Size", "number optional", (row) => bytes(row.bytes)],
  ], rows);
})();

(function partitions() {
  const PARTS = 64;
  const tables = new Map();
  for (const row of rowsOf(data.ranges)) {
    if (!tables.has(row.table)) tables.set(row.table, new Map());
    const columns = tables.get(row.table);
    if (!columns.has(row.column)) columns.set(row.column, { ...row, parts: new Array(PARTS).fill(0) });
    columns.get(row.column).parts[Math.max(0, Math.min(PARTS - 1, row.part))] += row.samples;
  }
  if (!tables.size) {
    byId("partitions").hidden = true;
    return;
  }
  byId("partitions-table").append(...[...tables.keys()].map((table) => element("option", { value: table }, short(table))));
  const chosen = () => [...tables.get(byId("partitions-table").value).values()];
  const ranges = () => 2 ** Number(byId("partitions-count").value);

  function axes() {
    const columns = chosen();
    return {
      x: { low: 0, high: Math.max(columns[0].rows, 1), title: "row of the table", format: shortCount },
      y: { low: 0, high: columns.length, down: true, fixed: true },
    };
  }

  function margins(plot) {
    return { left: plot.width < 640 ? 108 : 190, right: 8, top: 4, bottom: 40 };
  }

  function draw(plot, context) {
    chosen().forEach((column, row) => {
      const most = Math.max(...column.parts);
      column.parts.forEach((samples, part) => {
        const from = plot.x((part * column.rows) / PARTS);
        const width = plot.x(((part + 1) * column.rows) / PARTS) - from;
        context.fillStyle = samples ? `rgba(${style("--heat")}, ${0.15 + 0.85 * (samples / most)})` : style("--grid");
        context.fillRect(from, plot.y(row) + 2, width + 0.6, plot.y(row + 1) - plot.y(row) - 4);
      });
    });
    context.strokeStyle = style("--mark");
    for (let range = 1; range < ranges(); range += 1) {
      const at = plot.x((range * chosen()[0].rows) / ranges());
      line(context, at, plot.box.top, at, plot.box.top + plot.box.height);
    }
  }

  function tell(plot, pixelX, pixelY) {
    const [at, row] = plot.valueAt(pixelX, pixelY);
    const column = chosen()[Math.floor(row)];
    if (!column) return null;
    const part = Math.max(0, Math.min(PARTS - 1, Math.floor((at / column.rows) * PARTS)));
    return `${column.column}\nrows ${shortCount((part * column.rows) / PARTS)} to ${shortCount(((part + 1) * column.rows) / PARTS)}\n${shortCount(column.parts[part] * header.one_in)} accesses`;
  }

  const host = byId("partitions-plot");
  const plot = new Plot(host, "Accesses of each column by rows of the table.", axes(), margins, draw, tell);
  const drawAll = plot.draw.bind(plot);
  plot.draw = () => {
    drawAll();
    if (!plot.width) return;
    const context = plot.canvas.getContext("2d");
    context.fillStyle = style("--ink");
    context.textAlign = "right";
    context.textBaseline = "middle";
    chosen().forEach((column, row) => context.fillText(fitted(context, column.column, plot.box.left - 12), plot.box.left - 8, plot.y(row + 0.5)));
  };

  // Counts the ranges in which a column has samples, out of all.
  function touched(column) {
    const width = PARTS / ranges();
    return Array.from({ length: ranges() }, (_, range) => column.parts.slice(range * width, (range + 1) * width))
      .filter((parts) => parts.some((samples) => samples > 0)).length;
  }

  function fill() {
    byId("partitions-output").textContent = String(ranges());
    const rows = chosen().map((column) => ({ ...column, after: (column.bytes * touched(column)) / ranges(), ranges: touched(column) }));
    const total = (of) => rows.reduce((sum, row) => sum + of(row), 0);
    rows.push({ column: "all of these", bytes: total((row) => row.bytes), after: total((row) => row.after), ranges: null });
    fillTable(byId("partitions-columns"), [
      ["Column", "name", (row) => breakable(row.column)],
      ["Ranges read", "number optional", (row) => (row.ranges === null ? "" : `${row.ranges} of ${ranges()}`)],
      ["To hold now", "number", (row) => bytes(row.bytes)],
      ["In ranges", "number", (row) => bytes(row.after)],
      ["Saved", "number", (row) => percent(1 - row.after / (row.bytes || 1))],
      ["", "bar optional", (row) => bar(row.after / (row.bytes || 1))],
    ], rows, (row) => row.ranges === null);
    host.style.height = `${Math.max(120, 46 + 30 * chosen().length)}px`;
    plot.redraw();
  }

  byId("partitions-table").addEventListener("change", () => {
    fill();
    plot.setAxes(axes());
  });
  byId("partitions-count").addEventListener("input", fill);
  fill();
})();
