// Human-readable numbers with units.

const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

function round(number) {
  if (number === 0) return "0";
  const digits = Math.max(0, Math.min(3, 2 - Math.floor(Math.log10(Math.abs(number)))));
  return String(Number(number.toFixed(digits)));
}

function bytes(number) {
  let unit = 0;
  while (Math.abs(number) >= 1024 && unit < BYTE_UNITS.length - 1) {
    number /= 1024;
    unit += 1;
  }
  return `${round(number)} ${BYTE_UNITS[unit]}`;
}

function count(number) {
  return Math.round(number).toLocaleString("en-US").replaceAll(",", "\u202f");
}

function shortCount(number) {
  for (const [size, name] of [[1e9, " G"], [1e6, " M"], [1e3, " k"]]) {
    if (number >= size) return round(number / size) + name;
  }
  return round(number);
}

function duration(micros) {
  if (micros >= 1e6) return `${round(micros / 1e6)} s`;
  if (micros >= 1e3) return `${round(micros / 1e3)} ms`;
  return `${round(micros)} µs`;
}

function percent(share) {
  return `${share > 0 && share < 0.001 ? "<0.1" : round(share * 100)} %`;
}

// Returns round positions for ticks on an axis from `low` to `high`: at most `most` of them; `base` 2 for bytes.
function ticks(low, high, most, base = 10) {
  if (!(high > low) || most < 1) return [];
  const rough = (high - low) / most;
  const power = base ** Math.floor(Math.log(rough) / Math.log(base));
  const factors = base === 2 ? [1, 2] : [1, 2, 5, 10];
  const step = power * factors.find((factor) => power * factor >= rough);
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-9; at += step) found.push(at);
  return found;
}
