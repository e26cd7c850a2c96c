// The trace's data, and helpers that create elements from it.

const data = JSON.parse(document.getElementById("data").textContent);
// Empty lists are NULL.
for (const columns of Object.values(data)) {
  for (const name of Object.keys(Object(columns))) columns[name] ??= [];
}
const { header, counts, structures } = data;
const micros = header.nanos / 1000;
const HUES = 8;

// Common prefix of all table names, omitted from displayed names: `tpch.main.`.
const commonPrefix = (() => {
  const parts = structures.table.filter((table) => table !== null).map((table) => table.split(".").slice(0, -1).join("."));
  return parts.length && parts[0] && parts.every((part) => part === parts[0]) ? `${parts[0]}.` : "";
})();

function short(name) {
  return commonPrefix && name.startsWith(commonPrefix) ? name.slice(commonPrefix.length) : name;
}

// Returns a name that may be broken after its dots and underscores.
function breakable(name) {
  return name.split(/(?<=[._])/).flatMap((part, index) => (index ? [element("wbr"), part] : [part]));
}

// The most read structures have distinct hues.
const hueOf = (() => {
  const ranked = structures.samples.map((samples, number) => [samples, number]).sort((a, b) => b[0] - a[0]);
  const hues = new Array(ranked.length).fill("rest");
  ranked.slice(0, HUES).forEach(([, number]) => { hues[number] = "own"; });
  let next = 0;
  return hues.map((kind) => (kind === "own" ? next++ : "rest"));
})();

function style(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function colorOf(structure) {
  return style(`--hue-${hueOf[structure]}`);
}

function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

function swatch(structure) {
  const made = element("span", { className: "swatch", ariaHidden: "true" });
  made.style.background = `var(--hue-${hueOf[structure]})`;
  return made;
}

// Columns are [title, class, cell of a row].
function fillTable(table, columns, rows, chosen = () => false) {
  const head = element("tr", {}, ...columns.map(([title, kind]) => element("th", { className: kind, scope: "col" }, title)));
  const body = rows.map((row) => {
    const cells = columns.map(([, kind, cell]) => {
      const content = cell(row);
      return element("td", { className: kind }, ...(Array.isArray(content) ? content : [content]));
    });
    return element("tr", { className: chosen(row) ? "chosen" : "" }, ...cells);
  });
  table.replaceChildren(element("thead", {}, head), element("tbody", {}, ...body));
}

function bar(share, color, title) {
  const inner = element("div");
  inner.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
  if (color) inner.style.background = color;
  return element("div", { className: "behind", title }, inner);
}

function byId(id) {
  return document.getElementById(id);
}

// Returns the rows of an object of columns.
function rowsOf(columns) {
  const names = Object.keys(columns);
  return (columns[names[0]] ?? []).map((_, index) => Object.fromEntries(names.map((name) => [name, columns[name][index]])));
}

(function fillHeader() {
  const file = String(data.file).split(/[\\/]/).pop();
  byId("name").textContent = file;
  document.title = `${file} · memory trace`;
  const sources = { software: "the engine's own kernels", "intel-pebs": "Intel PEBS", "amd-ibs": "AMD IBS" };
  const facts = [
    ["samples", count(header.samples)],
    ["one sample in", `${count(header.one_in)} accesses`],
    ["noted by", sources[header.source] ?? String(header.source)],
    ["time", duration(micros)],
    ["structures read", count(counts.structures)],
    ["samples of no known object", count(counts.unowned)],
    ["lost samples", count(header.lost)],
    ...(commonPrefix ? [["tables of", commonPrefix.slice(0, -1)]] : []),
  ];
  byId("facts").append(...facts.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));
  const many = header.statement_count;
  byId("statements").querySelector("summary").textContent = many === 1 ? "The statement" : `The ${count(many)} statements`;
  byId("statements").querySelector("pre").textContent = (header.statements ?? []).join(";\n\n");
  byId("statements").hidden = !many;
  if (structures.name.length) return;
  for (const section of ["over-time", "accesses", "skew"]) byId(section).hidden = true;
  byId("facts").after(element("p", {}, "No sample belongs to a known object, so there is nothing to show."));
})();
