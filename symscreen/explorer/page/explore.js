"use strict";
// The page of `symscreen explore`. It reads JSON from its own server, and builds texts with textContent only.
// The one markup that it takes over are the typeset formulas, which the package writes and escapes.
const find = (id) => document.getElementById(id);
const svgNames = "http://www.w3.org/2000/svg";
const maxTextShown = 20000;
const longFormula = 34; // letters from which the list shows a formula as text, which can be wrapped
const pickRadius = 30; // pixels
const state = { formulas: [], shown: new Set(), chosen: null, points: null, row: -1, sort: -1, rising: true };

function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function draw(parent, name, attributes, text) {
  const element = document.createElementNS(svgNames, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

function typeset(markup) {
  const parsed = new DOMParser().parseFromString(markup, "text/html");
  return document.importNode(parsed.body, true).childNodes;
}

function format(number) {
  if (number === null) return "–";
  return String(Number(number.toPrecision(4))).replace("-", "−");
}

// --- the server ---

async function ask(path, options = {}) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Error("The server has ended. Start symscreen explore again, and open the new address.");
  }
  if (response.ok) return response;
  let words = await response.text();
  try {
    words = JSON.parse(words).error ?? words;
  } catch {} // a plain text
  throw new Error(words);
}

const askForJson = async (path, options) => (await ask(path, options)).json();

function tell(error) {
  find("failure").textContent = error ? error.message : "";
  find("failure").hidden = !error;
}

// --- axes ---

function chooseTicks(low, high, count, isWhole = false) {
  const rough = Math.max((high - low) / count || 1, isWhole ? 1 : 0);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= rough * 0.999);
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k += 1) ticks.push(k * step);
  return ticks;
}

function findRange(numbers) {
  let low = Infinity, high = -Infinity;
  for (const number of numbers) {
    if (number === null) continue;
    low = Math.min(low, number);
    high = Math.max(high, number);
  }
  if (low > high) return [0, 1];
  const margin = 0.04 * (high - low) || Math.abs(low) / 2 || 0.5;
  return [low - margin, high + margin];
}

function shorten(text, length) {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}

// Empties a picture and draws its axes; returns the functions from numbers to pixels.
function drawAxes(svg, xs, ys, xName, yName) {
  svg.replaceChildren();
  const width = svg.clientWidth || 320, height = svg.clientHeight || 240;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const [left, right, top, bottom] = [58, width - 10, 24, height - 40];
  const [xLow, xHigh] = findRange(xs), [yLow, yHigh] = findRange(ys);
  const toX = (x) => left + ((x - xLow) / (xHigh - xLow)) * (right - left);
  const toY = (y) => bottom - ((y - yLow) / (yHigh - yLow)) * (bottom - top);
  for (const tick of chooseTicks(xLow, xHigh, Math.max(2, Math.floor(width / 110)), xs.every(Number.isInteger))) {
    draw(svg, "line", { class: "grid", x1: toX(tick), x2: toX(tick), y1: top, y2: bottom });
    draw(svg, "text", { x: toX(tick), y: bottom + 16, "text-anchor": "middle" }, format(tick));
  }
  for (const tick of chooseTicks(yLow, yHigh, Math.max(2, Math.floor(height / 60)))) {
    draw(svg, "line", { class: "grid", x1: left, x2: right, y1: toY(tick), y2: toY(tick) });
    draw(svg, "text", { x: left - 6, y: toY(tick) + 4, "text-anchor": "end" }, format(tick));
  }
  const letters = Math.floor((right - left) / 8);
  draw(svg, "text", { class: "name", x: left, y: 14 }, `${shorten(yName, letters)} ↑`);
  draw(svg, "text", { class: "name", x: right, y: height - 6, "text-anchor": "end" }, `${shorten(xName, letters)} →`);
  return { toX, toY };
}

function findNearest(event, svg, places) {
  const box = svg.getBoundingClientRect();
  const x = event.clientX - box.left, y = event.clientY - box.top;
  let best = -1, least = pickRadius ** 2;
  places.forEach(([placeX, placeY], index) => {
    const distance = (placeX - x) ** 2 + (placeY - y) ** 2;
    if (distance < least) [best, least] = [index, distance];
  });
  return best;
}

// --- the list ---

function drawFront() {
  const drawn = state.formulas.map((formula, index) => ({ formula, index })).filter(({ formula }) => formula.loss !== null);
  const { toX, toY } = drawAxes(find("front"), drawn.map(({ formula }) => formula.complexity),
    drawn.map(({ formula }) => formula.loss), "complexity", state.lossName);
  const best = new Map();
  for (const { formula } of drawn) best.set(formula.complexity, Math.min(formula.loss, best.get(formula.complexity) ?? Infinity));
  let path = "", least = Infinity;
  for (const [complexity, loss] of [...best].sort((a, b) => a[0] - b[0])) {
    if (loss >= least) continue;
    path += path ? `H${toX(complexity)}V${toY(loss)}` : `M${toX(complexity)} ${toY(loss)}`;
    least = loss;
  }
  if (path) draw(find("front"), "path", { class: "trace", d: path });
  state.frontPlaces = drawn.map(({ formula }) => [toX(formula.complexity), toY(formula.loss)]);
  state.frontIndices = drawn.map(({ index }) => index);
  drawn.forEach(({ index }, place) => {
    const [x, y] = state.frontPlaces[place];
    draw(find("front"), "circle", { class: state.shown.has(index) ? "dot" : "dot off", cx: x, cy: y, r: 4 });
  });
  const chosen = state.frontIndices.indexOf(state.chosen);
  if (chosen >= 0) draw(find("front"), "circle", { class: "ring", cx: state.frontPlaces[chosen][0], cy: state.frontPlaces[chosen][1], r: 7 });
}

function filterRows() {
  const words = find("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  const complexity = Number(find("max-complexity").value);
  const loss = state.losses[Number(find("max-loss").value)] ?? Infinity;
  state.shown = new Set();
  state.formulas.forEach((formula, index) => {
    const text = formula.text.toLowerCase();
    const matches = formula.complexity <= complexity && (formula.loss === null || formula.loss <= loss)
      && words.every((word) => text.includes(word));
    state.rows[index].hidden = !matches;
    if (matches) state.shown.add(index);
  });
  find("complexity-shown").textContent = `≤ ${complexity}`;
  const lossText = Number.isFinite(loss) ? `≤ ${format(loss)}` : "all";
  find("loss-shown").textContent = lossText;
  find("max-loss").setAttribute("aria-valuetext", lossText);
  find("status").textContent = `${state.shown.size} of ${state.formulas.length} shown`;
  drawFront();
}

function sortRows(column) {
  state.rising = column === state.sort ? !state.rising : true;
  state.sort = column;
  const sign = state.rising ? 1 : -1;
  const key = (index) => {
    const formula = state.formulas[index];
    if (column === 0) return formula.rank;
    if (column === 1) return formula.text;
    const text = formula.cells[column - 2].key;
    return text === "" ? null : Number.isFinite(Number(text)) ? Number(text) : text;
  };
  const order = state.formulas.map((_, index) => index);
  order.sort((a, b) => {
    const [left, right] = [key(a), key(b)];
    if (left === null || right === null) return (left === null) - (right === null) || a - b;
    return (left < right ? -sign : left > right ? sign : 0) || a - b;
  });
  document.querySelector("#formulas tbody").append(...order.map((index) => state.rows[index]));
  document.querySelectorAll("#formulas thead th").forEach((head, place) => {
    if (place === column) head.setAttribute("aria-sort", state.rising ? "ascending" : "descending");
    else head.removeAttribute("aria-sort");
  });
}

function buildList(columns) {
  const heads = [{ text: "rank" }, { text: "formula" }, ...columns];
  document.querySelector("#formulas thead tr").replaceChildren(...heads.map((column, place) => {
    const button = make("button", { type: "button" }, column.text);
    button.addEventListener("click", () => sortRows(place));
    const head = make("th", { scope: "col", class: place === 1 ? "words" : place > 3 ? "extra" : "" }, button);
    if (column.meaning) head.title = column.meaning;
    return head;
  }));
  state.rows = state.formulas.map((formula, index) => {
    const pick = make("button", { type: "button", "aria-label": formula.text, class: formula.text.length > longFormula ? "long" : "short" },
      ...typeset(formula.markup), make("code", {}, make("bdi", {}, formula.text)));
    const cells = formula.cells.map((cell, place) => make("td", { class: place > 1 ? "extra" : "" }, cell.text));
    const row = make("tr", {}, make("th", { scope: "row" }, String(formula.rank)), make("td", { class: "words" }, pick), ...cells);
    row.addEventListener("click", () => choose(index, true));
    return row;
  });
  document.querySelector("#formulas tbody").replaceChildren(...state.rows);
}

function moveInList(event) {
  const step = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
  if (!step || !event.target.closest("tbody")) return;
  let row = event.target.closest("tr")[step];
  while (row && row.hidden) row = row[step];
  if (!row) return;
  event.preventDefault();
  row.querySelector("button").focus();
}

// --- one formula ---

function showFormula(title, formula) {
  find("shown-title").textContent = title;
  find("math").replaceChildren(...typeset(formula.markup));
  find("text").textContent = formula.text;
  find("facts").replaceChildren(...(formula.facts ?? []).map(({ name, value, meaning }) => {
    const entry = make("div", {}, make("dt", {}, name), make("dd", {}, value));
    if (meaning) entry.title = meaning;
    return entry;
  }));
}

function showPoints(points, missing) {
  state.points = points;
  state.row = -1;
  find("rows").hidden = !points;
  find("no-rows").hidden = Boolean(points);
  find("no-rows").textContent = missing;
  find("row").replaceChildren(make("div", { class: "wide" }, make("dt", {}, "a row"), make("dd", {}, "Point at it, or use the arrow keys.")));
  if (!points) return;
  const kept = find("axis").value;
  const choices = [["", `the ${points.axis === "prediction" ? "prediction" : "formula"}`], ["rows", "number of the row"],
    ...points.inputs.map(({ name }, index) => [`input ${index}`, name])];
  find("axis").replaceChildren(...choices.map(([value, text]) => new Option(text, value)));
  if (choices.some(([value]) => value === kept)) find("axis").value = kept;
  find("dot-name").textContent = points.target;
  find("curve-legend").hidden = !points.curve;
  find("curve-name").textContent = points.curve_name;
  find("remarks").textContent = points.remarks.join(" ");
  drawPoints();
}

function chooseAxis() {
  const value = find("axis").value;
  if (value === "rows") return ["number of the row", state.points.rows];
  if (value.startsWith("input ")) {
    const input = state.points.inputs[Number(value.slice(6))];
    return [input.name, input.values];
  }
  return [state.points.axis, state.points.x];
}

function drawPoints() {
  if (!state.points) return;
  const svg = find("points"), points = state.points, [name, xs] = chooseAxis();
  const ys = points.curve ? [...points.y, ...points.curve] : points.y;
  const { toX, toY } = drawAxes(svg, xs, ys, name, points.target);
  const kept = points.y.map((_, index) => index).filter((index) => xs[index] !== null);
  state.order = kept.sort((a, b) => xs[a] - xs[b] || a - b);
  state.places = points.y.map((y, index) => (xs[index] === null ? [-999, -999] : [toX(xs[index]), toY(y)]));
  for (const index of kept) draw(svg, "circle", { class: "dot", cx: state.places[index][0], cy: state.places[index][1], r: 3 });
  if (points.curve && find("axis").value === "") {
    draw(svg, "path", { class: "trace", d: state.order.map((index, place) => `${place ? "L" : "M"}${toX(xs[index]).toFixed(1)} ${toY(points.curve[index]).toFixed(1)}`).join("") });
  } else if (points.curve) {
    // along another axis the formula may jump from row to row, so that a line would hide the rows
    for (const index of kept) draw(svg, "circle", { class: "traced", cx: toX(xs[index]), cy: toY(points.curve[index]), r: 1.7 });
  }
  state.ring = draw(svg, "circle", { class: "ring", r: 6, visibility: "hidden" });
  svg.setAttribute("aria-valuemax", Math.max(0, state.order.length - 1));
  showRow(state.row);
}

function showRow(index) {
  const points = state.points;
  state.row = index;
  if (index < 0 || !points || state.places[index][0] < 0) {
    state.ring?.setAttribute("visibility", "hidden");
    return;
  }
  const [x, y] = state.places[index];
  for (const [key, value] of Object.entries({ cx: x, cy: y, visibility: "visible" })) state.ring.setAttribute(key, value);
  const entries = [["row", String(points.rows[index])], [points.target, format(points.y[index])]];
  if (points.axis === points.curve_name) entries.push([points.axis, format(points.x[index])]);
  else {
    entries.push(["formula", format(points.x[index])]);
    if (points.curve) entries.push([points.curve_name, format(points.curve[index])]);
  }
  const inputs = points.inputs.map(({ name, values, used }) => [name, format(values[index]), used]);
  find("row").replaceChildren(...[...entries, ...inputs].map(([name, value, used]) =>
    make("div", {}, make("dt", used ? { class: "used" } : {}, name), make("dd", {}, value))));
  const svg = find("points");
  svg.setAttribute("aria-valuenow", state.order.indexOf(index));
  svg.setAttribute("aria-valuetext", [...entries, ...inputs].map(([name, value]) => `${name} ${value}`).join(", "));
}

function moveInPicture(event) {
  if (!state.points) return;
  const last = state.order.length - 1, place = state.order.indexOf(state.row);
  const moves = { ArrowRight: place + 1, ArrowUp: place + 1, ArrowLeft: place - 1, ArrowDown: place - 1,
    PageUp: place + 20, PageDown: place - 20, Home: 0, End: last };
  if (!(event.key in moves)) return;
  event.preventDefault();
  showRow(state.order[Math.min(last, Math.max(0, moves[event.key]))] ?? -1);
}

async function choose(index, byUser = false) {
  state.rows[state.chosen]?.removeAttribute("aria-current");
  state.chosen = index;
  state.rows[index].setAttribute("aria-current", "true");
  drawFront();
  const formula = state.formulas[index];
  showFormula(state.formulas.length > 1 ? `Formula ${formula.rank}` : "Formula", formula);
  find("exports").hidden = false;
  closeExport();
  if (byUser && matchMedia("(max-width: 63.99rem)").matches) find("shown").scrollIntoView({ block: "start" });
  try {
    const points = state.hasRows ? await askForJson(`points?formula=${index}`) : null;
    if (state.chosen === index) showPoints(points, "There are no rows to draw.");
    tell(null);
  } catch (error) {
    tell(error);
  }
}

// --- export ---

function closeExport() {
  find("exported").hidden = true;
  find("copied").textContent = "";
  document.querySelectorAll("#exports [aria-pressed]").forEach((button) => button.setAttribute("aria-pressed", "false"));
}

function buildExports(exports) {
  document.querySelector("#exports .buttons").replaceChildren(...exports.map(({ name, label, summary }) => {
    const text = name === "csv" ? `${label} of the whole list` : label;
    const button = make("button", { type: "button", "aria-pressed": "false" }, text);
    if (summary) button.title = summary;
    button.addEventListener("click", () => showExport(name, button));
    return button;
  }));
}

async function showExport(name, button) {
  const address = `export?format=${encodeURIComponent(name)}&formula=${state.chosen}`;
  closeExport();
  try {
    state.exported = await (await ask(address)).text();
    find("exported-text").textContent = shorten(state.exported, maxTextShown);
    find("download").href = address;
    find("exported").hidden = false;
    button.setAttribute("aria-pressed", "true");
    tell(null);
  } catch (error) {
    tell(error);
  }
}

async function copyExport() {
  try {
    await navigator.clipboard.writeText(state.exported);
    find("copied").textContent = "copied";
  } catch {
    find("copied").textContent = "the browser does not allow it: select the text";
  }
}

// --- why ---

async function explain(event) {
  event.preventDefault();
  const button = document.querySelector("#ask button"), answer = find("answer");
  button.disabled = true;
  answer.replaceChildren(make("p", {}, "Looking it up …"));
  try {
    const found = await askForJson("why", { method: "POST", body: find("typed").value });
    answer.replaceChildren(...found.lines.map((line) => make("p", {}, line)));
    if (found.listed !== null) {
      const show = make("button", { type: "button" }, "Show it in the list");
      show.addEventListener("click", () => choose(found.listed, true));
      answer.append(show);
    }
    state.rows[state.chosen]?.removeAttribute("aria-current");
    state.chosen = null;
    drawFront();
    showFormula("Typed formula", found);
    find("exports").hidden = true;
    showPoints(found.points, state.hasRows ? "It has no value in some rows, so it is not drawn." : "There are no rows to draw.");
    tell(null);
  } catch (error) {
    answer.replaceChildren(make("p", {}, error.message));
  }
  button.disabled = false;
}

// --- start ---

function setUp(content) {
  document.title = `${content.title} – symscreen`;
  find("title").textContent = content.title;
  find("verdict").textContent = content.verdict;
  find("verdict").hidden = !content.verdict;
  find("summary").textContent = content.summary.join(" ");
  find("notices").hidden = !content.notices.length;
  document.querySelector("#notices ul").replaceChildren(...content.notices.map((notice) => make("li", {}, notice)));
  Object.assign(state, { formulas: content.formulas, hasRows: content.has_rows, lossName: content.loss_name });
  state.losses = [...new Set(content.formulas.map(({ loss }) => loss).filter((loss) => loss !== null))].sort((a, b) => a - b);
  const complexities = content.formulas.map(({ complexity }) => complexity);
  const [low, high] = [Math.min(...complexities), Math.max(...complexities)];
  Object.assign(find("max-complexity"), { min: low, max: high, value: high });
  Object.assign(find("max-loss"), { max: Math.max(0, state.losses.length - 1), value: state.losses.length - 1 });
  find("loss-label").textContent = `Largest ${content.loss_name}`;
  find("main").classList.toggle("single", content.formulas.length < 2);
  find("why").hidden = !content.can_explain;
  find("sections").hidden = content.formulas.length < 2;
  document.querySelector("#sections [href='#why']").hidden = !content.can_explain;
  find("example").textContent = content.formulas[0]?.text ?? "";
  buildList(content.columns);
  buildExports(content.exports);
  filterRows();
  sortRows(0);
  if (content.formulas.length) choose(0);
  else find("shown").hidden = true;
}

async function start() {
  find("filter").addEventListener("input", filterRows);
  find("max-complexity").addEventListener("input", filterRows);
  find("max-loss").addEventListener("input", filterRows);
  find("formulas").addEventListener("keydown", moveInList);
  find("front").addEventListener("click", (event) => {
    const place = findNearest(event, find("front"), state.frontPlaces);
    if (place >= 0) choose(state.frontIndices[place], true);
  });
  find("axis").addEventListener("change", drawPoints);
  find("points").addEventListener("pointermove", (event) => showRow(findNearest(event, find("points"), state.places)));
  find("points").addEventListener("pointerdown", (event) => showRow(findNearest(event, find("points"), state.places)));
  find("points").addEventListener("keydown", moveInPicture);
  find("copy").addEventListener("click", copyExport);
  find("ask").addEventListener("submit", explain);
  try {
    setUp(await askForJson("formulas"));
    new ResizeObserver(() => { drawFront(); drawPoints(); }).observe(find("main"));
  } catch (error) {
    tell(error);
  }
  find("main").removeAttribute("aria-busy");
}

start();
