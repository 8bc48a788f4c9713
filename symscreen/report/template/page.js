(() => {
  "use strict";
  const table = document.getElementById("ranking");
  if (!table) return;
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const heads = [...table.tHead.rows[0].cells];
  const [tools, filter, choice, turn, status] =
    ["tools", "filter", "sort", "turn", "status"].map((id) => document.getElementById(id));
  const texts = rows.map((row) => row.cells[1].dataset.v.toLowerCase());
  const keys = heads.map((_, column) => {
    const values = rows.map((row) => row.cells[column].dataset.v);
    const numeric = column !== 1 && values.every((value) => value === "" || Number.isFinite(Number(value)));
    return values.map((value) => (value === "" ? null : numeric ? Number(value) : value));
  });
  let by = 0;
  let way = 1;

  function order() {
    const key = keys[by];
    const compare = (a, b) => {
      if (key[a] === null || key[b] === null) return (key[a] === null) - (key[b] === null) || a - b;
      return (key[a] < key[b] ? -way : key[a] > key[b] ? way : 0) || a - b;
    };
    const fragment = document.createDocumentFragment();
    rows.map((_, place) => place).sort(compare).forEach((place) => fragment.append(rows[place]));
    body.append(fragment);
    heads.forEach((head, column) => {
      if (column === by) head.setAttribute("aria-sort", way > 0 ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
    choice.value = String(by);
  }

  function sortBy(column) {
    way = column === by ? -way : 1;
    by = column;
    order();
    status.textContent = `sorted by ${choice.options[by].text}, ${way > 0 ? "ascending" : "descending"}`;
  }

  function sift() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, place) => {
      const fits = words.every((word) => texts[place].includes(word));
      row.hidden = !fits;
      shown += fits;
    });
    status.textContent = `${shown} of ${rows.length} shown`;
  }

  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    choice.add(new Option(head.textContent, String(column)));
    button.addEventListener("click", () => sortBy(column));
    head.replaceChildren(button);
  });
  filter.addEventListener("input", sift);
  choice.addEventListener("change", () => {
    by = -1;
    sortBy(Number(choice.value));
  });
  turn.addEventListener("click", () => sortBy(by));
  tools.hidden = false;
  status.textContent = `${rows.length} of ${rows.length} shown`;
})();
