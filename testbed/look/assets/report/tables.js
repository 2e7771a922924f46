// Tables that a reader can sort, and that keep their order when rows are added.
const reportTables = (() => {
  "use strict";

  /** What a row is sorted by: a number if its cell has one, otherwise its text. What was not measured comes last. */
  function compare(a, b, sign) {
    if (a.value !== null && b.value !== null) return sign * (a.value - b.value);
    if (a.value !== null || b.value !== null) return a.value !== null ? -1 : 1;
    if ((a.text === "-") !== (b.text === "-")) return a.text === "-" ? 1 : -1;
    return sign * a.text.localeCompare(b.text, "en", { numeric: true });
  }

  function sorted(rows, column, isUp) {
    const keyed = rows.map((row) => {
      const cell = row.cells[column];
      const value = cell.dataset.value === undefined ? null : Number(cell.dataset.value);
      return { row, value, text: cell.textContent };
    });
    keyed.sort((a, b) => compare(a, b, isUp ? 1 : -1));
    return keyed.map((one) => one.row);
  }

  const headsOf = (table) => [...table.tHead.rows[0].cells];

  function sort(table, column) {
    const heads = headsOf(table);
    const isUp = heads[column].getAttribute("aria-sort") !== "ascending";
    heads.forEach((head, index) => head.setAttribute("aria-sort", index !== column ? "none" : isUp ? "ascending" : "descending"));
    table.tBodies[0].append(...sorted([...table.tBodies[0].rows], column, isUp));
  }

  function makeSortable(table) {
    table.tHead.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button) sort(table, button.closest("th").cellIndex);
    });
  }

  // -- a table that grows -----------------------------------------------------------------------------------------------

  const nameOf = (row) => [...row.cells].filter((cell) => cell.classList.contains("label")).map((cell) => cell.textContent).join("\n");

  /** Makes a table show what another one has. The order, what is read and the focus stay; so do rows that are the same. */
  function update(table, wanted) {
    const focused = document.activeElement;
    updateHead(table, wanted);
    const body = table.tBodies[0];
    const there = new Map();
    for (const row of body.rows) there.set(nameOf(row), [...(there.get(nameOf(row)) || []), row]);
    const kept = new Set();
    let rows = [...wanted.tBodies[0].rows].map((row) => {
      const same = (there.get(nameOf(row)) || []).shift();
      if (!same || !same.isEqualNode(row)) return row;
      kept.add(same);
      return same;
    });
    const by = headsOf(table).findIndex((head) => head.getAttribute("aria-sort") !== "none");
    if (by >= 0) rows = sorted(rows, by, headsOf(table)[by].getAttribute("aria-sort") === "ascending");
    stayAt(table, [...body.rows].filter((row) => kept.has(row)), () => {
      for (const row of [...body.rows]) if (!kept.has(row)) row.remove();
      let next = body.firstElementChild;
      for (const row of rows) {
        if (row === next) next = row.nextElementSibling;
        else body.insertBefore(row, next);
      }
    });
    if (focused !== document.activeElement && table.contains(focused)) focused.focus({ preventScroll: true });
  }

  /** The heads of columns that are there stay, with the mark of the order; a metric may be measured later than others. */
  function updateHead(table, wanted) {
    table.className = wanted.className;
    table.caption.textContent = wanted.caption.textContent;
    table.parentElement.setAttribute("aria-label", wanted.caption.textContent);
    const heads = new Map(headsOf(table).map((head) => [head.textContent, head]));
    const names = (one) => headsOf(one).map((head) => head.textContent).join("\n");
    if (names(table) === names(wanted)) return;
    table.tHead.rows[0].replaceChildren(...headsOf(wanted).map((head) => heads.get(head.textContent) || head));
  }

  /** Changes a table whose reader has scrolled down, so that the first row in sight that stays does not move. */
  function stayAt(table, rows, change) {
    const box = table.parentElement;
    const top = box.getBoundingClientRect().top + table.tHead.offsetHeight;
    const placeOf = (row) => row.getBoundingClientRect().top;
    const first = box.scrollTop > 0 ? rows.find((row) => placeOf(row) >= top) : undefined;
    const before = first && placeOf(first);
    change();
    if (first) box.scrollTop += placeOf(first) - before;
  }

  return { makeSortable, update };
})();
