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
