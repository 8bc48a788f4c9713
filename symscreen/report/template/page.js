(() => {
  "use strict";
  // What scrolls is reachable by keyboard, and what does not is no stop on the way.
  const formulas = [...document.querySelectorAll("#ranking .math")];
  const boxes = [...document.querySelectorAll(".scroll, pre"), ...formulas];
  const markScrolling = (chosen) => {
    const scrolls = chosen.map((box) => box.scrollWidth > box.clientWidth);
    chosen.forEach((box, index) => {
      if (scrolls[index]) box.setAttribute("tabindex", "0");
      else box.removeAttribute("tabindex");
    });
  };
  formulas.forEach((formula) => {
    formula.setAttribute("role", "group");
    formula.setAttribute("aria-label", "formula");
  });
  markScrolling(boxes);
  addEventListener("resize", () => markScrolling(boxes));
  // A box in a fold has its size only when the fold is open.
  document.querySelectorAll("details").forEach((fold) => {
    fold.addEventListener("toggle", () => markScrolling(boxes.filter((box) => fold.contains(box))));
  });
  // The pointer, or the arrow keys, show the values of a point of a picture.
  const format = (value) => String(Number(value.toPrecision(3)));
  function tracePoints(picture) {
    const axes = JSON.parse(picture.dataset.axes);
    const isInside = (position, { at }) => position > Math.min(...at) + 0.5 && position < Math.max(...at) - 0.5;
    const points = [...picture.querySelectorAll("use")]
      .map((point) => [Number(point.getAttribute("x")), Number(point.getAttribute("y"))])
      .filter((point) => axes.every((axis, side) => isInside(point[side], axis)))
      .sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    if (!points.length) return;
    const ring = document.createElementNS(picture.namespaceURI, "circle");
    ring.setAttribute("class", "ring");
    ring.setAttribute("r", "4");
    const values = document.createElement("output");
    values.className = "values";
    values.textContent = "\u00a0";
    picture.after(values);
    picture.setAttribute("tabindex", "0");
    let current = -1;
    const computeValue = (position, { limits, at, is_log: isLog }) => {
      const share = (position - at[0]) / (at[1] - at[0]);
      return isLog ? limits[0] * (limits[1] / limits[0]) ** share : limits[0] + share * (limits[1] - limits[0]);
    };
    const show = (index) => {
      if (index === current) return;
      current = index;
      const point = points[index];
      ring.setAttribute("cx", point[0]);
      ring.setAttribute("cy", point[1]);
      picture.append(ring);
      values.textContent = axes.map((axis, side) => `${axis.label}: ${format(computeValue(point[side], axis))}`).join("; ");
    };
    const hide = () => {
      current = -1;
      ring.remove();
      values.textContent = "\u00a0";
    };
    picture.addEventListener("pointermove", (event) => {
      const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(picture.getScreenCTM().inverse());
      const distances = points.map(([x, y]) => Math.hypot(x - place.x, y - place.y));
      const nearest = distances.indexOf(Math.min(...distances));
      if (distances[nearest] < 12) show(nearest);
      else hide();
    });
    picture.addEventListener("pointerleave", hide);
    picture.addEventListener("blur", hide);
    picture.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      show(Math.min(points.length - 1, Math.max(0, current + step)));
    });
  }
  document.querySelectorAll("svg[data-axes]").forEach(tracePoints);
  const table = document.getElementById("ranking");
  if (!table) return;
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const heads = [...table.tHead.rows[0].cells];
  const [tools, filter, sortSelect, reverse, status] =
    ["tools", "filter", "sort", "turn", "status"].map((id) => document.getElementById(id));
  const texts = rows.map((row) => row.cells[1].dataset.v.toLowerCase());
  const keys = heads.map((_, column) => {
    const values = rows.map((row) => row.cells[column].dataset.v);
    const numeric = column !== 1 && values.every((value) => value === "" || Number.isFinite(Number(value)));
    return values.map((value) => (value === "" ? null : numeric ? Number(value) : value));
  });
  let sortColumn = 0;
  let direction = 1;

  function sortRows() {
    const key = keys[sortColumn];
    const compare = (a, b) => {
      if (key[a] === null || key[b] === null) return (key[a] === null) - (key[b] === null) || a - b;
      return (key[a] < key[b] ? -direction : key[a] > key[b] ? direction : 0) || a - b;
    };
    const fragment = document.createDocumentFragment();
    rows.map((_, index) => index).sort(compare).forEach((index) => fragment.append(rows[index]));
    body.append(fragment);
    heads.forEach((head, column) => {
      if (column === sortColumn) head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
    sortSelect.value = String(sortColumn);
  }

  function sortBy(column) {
    direction = column === sortColumn ? -direction : 1;
    sortColumn = column;
    sortRows();
    status.textContent = `sorted by ${sortSelect.options[sortColumn].text}, ${direction > 0 ? "ascending" : "descending"}`;
  }

  function filterRows() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, index) => {
      const matches = words.every((word) => texts[index].includes(word));
      row.hidden = !matches;
      shown += matches;
    });
    status.textContent = `${shown} of ${rows.length} shown`;
  }

  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    sortSelect.add(new Option(head.textContent, String(column)));
    button.addEventListener("click", () => sortBy(column));
    head.replaceChildren(button);
  });
  filter.addEventListener("input", filterRows);
  sortSelect.addEventListener("change", () => {
    sortColumn = -1;
    sortBy(Number(sortSelect.value));
  });
  reverse.addEventListener("click", () => sortBy(sortColumn));
  tools.hidden = false;
  status.textContent = `${rows.length} of ${rows.length} shown`;
})();
