// Accesses per structure, and their distribution within one.

(function accesses() {
  const total = structures.samples.reduce((sum, samples) => sum + samples, 0) || 1;
  const STEPS = 200;
  const steps = structures.name.map(() => new Array(STEPS).fill(0));
  data.steps.structure.forEach((structure, index) => { steps[structure][data.steps.step[index]] += data.steps.samples[index]; });

  function sparkline(number) {
    const most = Math.max(...steps[number], 1);
    const places = steps[number].map((samples, step) => `${step},${(24 - (samples / most) * 23).toFixed(1)}`);
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", `0 0 ${STEPS} 25`);
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("aria-hidden", "true");
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("d", `M0,25 L${places.join(" L")} L${STEPS},25 Z`);
    path.style.fill = `var(--hue-${hueOf[number]})`;
    svg.append(path);
    return svg;
  }

  const ranked = structures.name.map((_, number) => number).sort((a, b) => structures.samples[b] - structures.samples[a]);
  const most = structures.samples[ranked[0]] || 1;
  fillTable(byId("accesses-table"), [
    ["Structure", "name", (number) => element("div", { className: "marked" }, swatch(number), element("span", {}, ...breakable(short(structures.name[number]))))],
    ["Kind", "optional", (number) => structures.kind[number]],
    ["Size", "number optional", (number) => bytes(structures.bytes[number])],
    ["Over time", "", sparkline],
    ["Accesses", "number", (number) => shortCount(structures.samples[number] * header.one_in)],
    ["Share", "number", (number) => percent(structures.samples[number] / total)],
    ["", "bar optional", (number) => bar(structures.samples[number] / most, `var(--hue-${hueOf[number]})`)],
  ], ranked);
})();

(function skew() {
  const PARTS = 1024;
  const parts = structures.name.map(() => new Float64Array(PARTS));
  data.parts.structure.forEach((structure, index) => { parts[structure][data.parts.part[index]] = data.parts.samples[index]; });
  const hottest = structures.name.map(() => []);
  rowsOf(data.hottest).forEach((row) => hottest[row.structure].push(row));

  // The first one shown is the one whose most read entry stands out most; one with a value tells more.
  const lead = (number) => {
    const [first] = hottest[number];
    return first ? (first.samples / structures.samples[number]) * Math.min(first.samples, 100) * (first.value === null ? 1 : 4) : 0;
  };
  let chosen = structures.name.map((_, number) => number).sort((a, b) => lead(b) - lead(a))[0] ?? 0;
  const isLog = () => byId("skew-scale").value === "log";
  const scaled = (accesses) => (isLog() ? Math.log10(1 + accesses) : accesses);

  function axes() {
    const most = Math.max(...(parts[chosen] ?? [0]), 1) * header.one_in;
    const format = (at) => shortCount(isLog() ? 10 ** at - 1 : at);
    // A small dictionary occupies the start of a large page: the rest isn't worth showing.
    const read = parts[chosen] ? parts[chosen].findLastIndex((samples) => samples > 0) + 1 : PARTS;
    return {
      x: { low: 0, high: (structures.bytes[chosen] * read) / PARTS || 1, title: "bytes from the structure's beginning", format: bytes, base: 2 },
      y: { low: 0, high: scaled(most) * 1.04, title: "accesses", format, fixed: true },
    };
  }

  function draw(plot, context) {
    const width = structures.bytes[chosen] / PARTS;
    context.fillStyle = colorOf(chosen);
    for (let part = 0; part < PARTS; part += 1) {
      if (!parts[chosen][part]) continue;
      const from = plot.x(part * width);
      const top = plot.y(scaled(parts[chosen][part] * header.one_in));
      context.fillRect(from, top, Math.max(1, plot.x((part + 1) * width) - from), plot.y(0) - top);
    }
  }

  function tell(plot, pixelX) {
    const width = structures.bytes[chosen] / PARTS;
    const part = Math.max(0, Math.min(PARTS - 1, Math.floor(plot.valueAt(pixelX, 0)[0] / width)));
    return `${bytes(part * width)} to ${bytes((part + 1) * width)}\n${shortCount(parts[chosen][part] * header.one_in)} accesses`;
  }

  const plot = structures.name.length && new Plot(
    byId("skew-plot"), "Accesses by place in the chosen structure.", axes(), { left: 66, right: 8, top: 6, bottom: 40 }, draw, tell,
  );

  function entryName(row) {
    return row.entry === null ? `byte ${count(row.position)}` : count(row.entry);
  }

  function says(rows) {
    if (!rows.length) return "";
    const all = structures.samples[chosen];
    const few = rows.slice(0, 20);
    const share = few.reduce((sum, row) => sum + row.samples, 0) / all;
    const size = structures.entry_bytes[chosen] ?? 64;
    const even = Math.min(1, (few.length * size) / structures.bytes[chosen]);
    const named = rows[0].value === null ? "" : `, whose value is ${rows[0].value}`;
    const first = `The most read entry is ${entryName(rows[0])}${named}: ${percent(rows[0].samples / all)} of the structure's accesses.`;
    return few.length === 1 ? first : `${first} The ${few.length} most read entries get ${percent(share)}; if all were read alike, they would get ${percent(even)}.`;
  }

  function fill() {
    const rows = hottest[chosen] ?? [];
    const most = rows[0]?.samples || 1;
    const hasValues = rows.some((row) => row.value !== null);
    byId("skew-says").textContent = says(rows);
    fillTable(byId("hottest-table"), [
      ["Entry", "number", entryName],
      ...(hasValues ? [["Value", "name", (row) => row.value ?? ""]] : []),
      ["From the beginning", "number optional", (row) => bytes(row.position)],
      ["Accesses", "number", (row) => shortCount(row.samples * header.one_in)],
      ["Share", "number", (row) => percent(row.samples / structures.samples[chosen])],
      ["", "bar", (row) => bar(row.samples / most, `var(--hue-${hueOf[chosen]})`)],
    ], rows);
    plot.setAxes(axes());
  }

  if (!plot) return;
  const ranked = structures.name.map((_, number) => number).sort((a, b) => structures.samples[b] - structures.samples[a]);
  byId("skew-structure").append(...ranked.map((number) => element("option", { value: String(number), selected: number === chosen }, short(structures.name[number]))));
  byId("skew-structure").addEventListener("change", (event) => {
    chosen = Number(event.target.value);
    fill();
  });
  byId("skew-scale").addEventListener("change", () => plot.setAxes(axes()));
  fill();
})();
